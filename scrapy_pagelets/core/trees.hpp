// Symmetric trees over blocks of rows: all rows of a block take one level of a tree at once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
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
constexpr std::size_t USUAL_LEVELS = 6, MOST_LEVELS = 8;

// See `scrapy_pagelets.templates.trees.Trees`.
struct Forest {
    const std::uint16_t *feature;  // (trees, depth)
    const float *border;           // (trees, depth)
    const float *value;            // (trees, 2 ** depth)
    std::size_t trees, depth;
};

// Add the values of all trees to the sums of the rows of a block. Width and number of levels are constant, so that
// compilers make one run of vector instructions of them.
template <std::size_t LEVELS, std::size_t WIDTH>
INLINED void add_values(const Forest &forest, const float *const *columns, double *sums) {
    static const float none[BLOCK] = {};
    const float *column[LEVELS];
    float border[LEVELS];
    std::uint32_t numbers[WIDTH];  // of the leaf of each row
    std::fill_n(column, LEVELS, none);
    std::fill_n(border, LEVELS, 0);  // levels beyond the depth have the answer 0
    for (std::size_t tree = 0; tree < forest.trees; tree++) {
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
        const float *values = forest.value + (tree << forest.depth);
        for (std::size_t row = 0; row < WIDTH; row++) sums[row] += values[numbers[row]];
    }
}
FOR_ALL_PROCESSORS inline void add_values(const Forest &forest, const float *const *columns, std::size_t count,
                                          double *sums) {
    if (forest.depth > USUAL_LEVELS) add_values<MOST_LEVELS, BLOCK>(forest, columns, sums);
    else if (count > FEW) add_values<USUAL_LEVELS, BLOCK>(forest, columns, sums);
    else add_values<USUAL_LEVELS, FEW>(forest, columns, sums);
}

// Write the sum of all trees for each row, without the bias.
inline void evaluate(const Forest &forest, const std::vector<const float *> &columns, std::size_t rows, double *sums) {
    std::vector<const float *> block(columns.size());
    std::vector<float> last;  // the columns of an incomplete block
    for (std::size_t first = 0; first < rows; first += BLOCK) {
        const std::size_t count = std::min(BLOCK, rows - first);
        if (count < BLOCK) last.resize(columns.size() * BLOCK);
        for (std::size_t j = 0; j < columns.size(); j++) {
            block[j] = columns[j] + first;
            if (count < BLOCK) block[j] = std::copy_n(block[j], count, &last[j * BLOCK]) - count;
        }
        double sum[BLOCK] = {};
        add_values(forest, block.data(), count, sum);
        std::copy_n(sum, count, sums + first);
    }
}
