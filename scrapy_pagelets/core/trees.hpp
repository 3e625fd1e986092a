// Symmetric trees over blocks of rows: all rows of a block take one level of a tree at once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

// Where the compiler can, it also makes a form for processors with AVX2, chosen when the module is loaded.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define FOR_ALL_PROCESSORS __attribute__((target_clones("avx2", "default")))
#define INLINED inline __attribute__((always_inline))  // into each of these forms
#else
#define FOR_ALL_PROCESSORS
#define INLINED inline
#endif

constexpr std::size_t BLOCK = 64;  // rows
constexpr std::size_t FEW = 16;    // rows of a small block
constexpr std::size_t LANES = 8;   // rows whose sums are kept in registers
constexpr std::size_t USUAL_LEVELS = 6, MOST_LEVELS = 8;

// See `scrapy_pagelets.templates.trees.Trees`.
struct Forest {
    const std::int64_t *feature;  // (trees, depth)
    const float *border;          // (trees, depth)
    const float *value;           // (trees, 2 ** depth)
    std::size_t trees, depth;
};

// Write the number of the leaf of each tree, (trees, BLOCK), for the rows of a block. Width and number of levels are
// constant, so that compilers make one run of vector instructions of them.
template <std::size_t LEVELS, std::size_t WIDTH>
INLINED void number_leaves(const Forest &forest, const float *const *columns, std::uint32_t *numbers) {
    static const float none[BLOCK] = {};
    const float *column[LEVELS];
    float border[LEVELS];
    std::fill_n(column, LEVELS, none);
    std::fill_n(border, LEVELS, 0);  // levels beyond the depth have the answer 0
    for (std::size_t tree = 0; tree < forest.trees; tree++, numbers += BLOCK) {
        for (std::size_t level = 0; level < forest.depth; level++) {
            const std::size_t split = tree * forest.depth + level;
            column[level] = columns[forest.feature[split]];
            border[level] = forest.border[split];
        }
        for (std::size_t row = 0; row < WIDTH; row++) {
            std::uint32_t number = 0;
            for (std::size_t level = 0; level < LEVELS; level++)
                number |= column[level][row] > border[level] ? 1u << level : 0;
            numbers[row] = number;
        }
    }
}
FOR_ALL_PROCESSORS inline void number_leaves(const Forest &forest, const float *const *columns, std::size_t count,
                                             std::uint32_t *numbers) {
    if (forest.depth > USUAL_LEVELS) number_leaves<MOST_LEVELS, BLOCK>(forest, columns, numbers);
    else if (count > FEW) number_leaves<USUAL_LEVELS, BLOCK>(forest, columns, numbers);
    else number_leaves<USUAL_LEVELS, FEW>(forest, columns, numbers);
}

// Write the sum of all trees for each row, without the bias.
inline void evaluate(const Forest &forest, const std::vector<const float *> &columns, std::size_t rows, double *sums) {
    const std::unique_ptr<std::uint32_t[]> numbers(new std::uint32_t[forest.trees * BLOCK]);
    std::vector<const float *> block(columns.size());
    std::vector<float> last;  // the columns of an incomplete block
    for (std::size_t first = 0; first < rows; first += BLOCK) {
        const std::size_t count = std::min(BLOCK, rows - first);
        if (count < BLOCK) last.resize(columns.size() * BLOCK);
        for (std::size_t j = 0; j < columns.size(); j++) {
            block[j] = columns[j] + first;
            if (count < BLOCK) block[j] = std::copy_n(block[j], count, &last[j * BLOCK]) - count;
        }
        number_leaves(forest, block.data(), count, numbers.get());
        for (std::size_t lane = 0; lane < count; lane += LANES) {
            double sum[LANES] = {};
            for (std::size_t tree = 0; tree < forest.trees; tree++) {
                const float *values = forest.value + (tree << forest.depth);
                const std::uint32_t *number = &numbers[tree * BLOCK + lane];
                for (std::size_t row = 0; row < LANES; row++) sum[row] += values[number[row]];
            }
            std::copy(sum, sum + std::min(LANES, count - lane), sums + first + lane);
        }
    }
}
