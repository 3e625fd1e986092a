// Symmetric trees over blocks of rows: all rows of a block take one level of a tree at once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// Where the compiler can, it also makes a form for processors with AVX2, chosen when the module is loaded.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define FOR_ALL_PROCESSORS __attribute__((target_clones("avx2", "default")))
#else
#define FOR_ALL_PROCESSORS
#endif

constexpr std::size_t BLOCK = 64;  // rows; one cache line of answers

// Compare a column of a block with a border; the answers become a bit of each row's number.
FOR_ALL_PROCESSORS inline void answer(const float *column, float border, std::uint8_t bit, std::uint8_t *number) {
    for (std::size_t row = 0; row < BLOCK; row++) number[row] |= column[row] > border ? bit : 0;
}

struct Forest {
    const std::int64_t *feature;  // (trees, depth)
    const float *border;          // (trees, depth)
    const float *value;           // (trees, 2 ** depth)
    std::size_t trees, depth;
};

// Write the sum of all trees for each row of a matrix, (rows, features), without the bias.
inline void evaluate(const Forest &forest, const float *matrix, std::size_t rows, std::size_t features, double *sums) {
    std::vector<float> columns(features * BLOCK);
    for (std::size_t first = 0; first < rows; first += BLOCK) {
        const std::size_t count = std::min(BLOCK, rows - first);
        for (std::size_t row = 0; row < count; row++)
            for (std::size_t j = 0; j < features; j++) columns[j * BLOCK + row] = matrix[(first + row) * features + j];
        double sum[BLOCK] = {};
        for (std::size_t tree = 0; tree < forest.trees; tree++) {
            std::uint8_t number[BLOCK] = {};
            for (std::size_t level = 0; level < forest.depth; level++) {
                const std::size_t split = tree * forest.depth + level;
                answer(&columns[forest.feature[split] * BLOCK], forest.border[split], std::uint8_t(1u << level), number);
            }
            const float *values = forest.value + (tree << forest.depth);
            for (std::size_t row = 0; row < BLOCK; row++) sum[row] += values[number[row]];
        }
        std::copy(sum, sum + count, sums + first);
    }
}
