// Symmetric trees over blocks of rows: all rows of a block take one level of a tree at once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "forest.hpp"
#include "wide_trees.hpp"

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
FOR_ALL_PROCESSORS inline void add_values(const Forest &forest, const float *const *columns, std::size_t width,
                                          double *sums) {
    if (forest.depth > USUAL_LEVELS) add_values<MOST_LEVELS, BLOCK>(forest, columns, sums);
    else if (width == 64) add_values<USUAL_LEVELS, 64>(forest, columns, sums);
    else if (width == 32) add_values<USUAL_LEVELS, 32>(forest, columns, sums);
    else add_values<USUAL_LEVELS, 16>(forest, columns, sums);
}

// Add the values of all trees to the sums of a block.
inline void add_block(const Forest &forest, const float *const *columns, std::size_t width, double *sums) {
    if (!add_if_wide(forest, columns, width, sums)) add_values(forest, columns, width, sums);
}

// Write the sum of all trees for each row, without the bias. Only the columns that are used are read.
inline void evaluate(const Forest &forest, const std::vector<std::uint16_t> &used,
                     const std::vector<const float *> &columns, std::size_t rows, double *sums) {
    std::vector<const float *> block(columns.size());
    std::unique_ptr<float[]> last;  // the columns of an incomplete block; what is behind their ends does not count
    for (std::size_t first = 0; first < rows; first += BLOCK) {
        const std::size_t count = std::min(BLOCK, rows - first);
        const std::size_t width = forest.depth > USUAL_LEVELS ? BLOCK : width_of(count);
        if (count < width) last.reset(new float[used.size() * width]);
        for (std::size_t k = 0; k < used.size(); k++) {
            const float *column = columns[used[k]] + first;
            block[used[k]] = count < width ? std::copy_n(column, count, &last[k * width]) - count : column;
        }
        double sum[BLOCK] = {};
        add_block(forest, block.data(), width, sum);
        std::copy_n(sum, count, sums + first);
    }
}

// Some forests that are compared: what they use, and what is added to their sums.
struct Rivals {
    std::vector<Forest> forests;
    std::vector<double> bias;
    std::vector<std::uint16_t> used;
    std::size_t width = 0;  // columns that a matrix must have
};

// Write the number of the forest with the greatest sum, the first one of equals, for some rows of a matrix.
inline void choose(const Rivals &rivals, const std::vector<const float *> &columns, const std::int64_t *rows,
                   std::size_t size, std::int64_t *chosen) {
    std::vector<const float *> block(columns.size());
    std::vector<float> gathered(rivals.used.size() * BLOCK);
    for (std::size_t k = 0; k < rivals.used.size(); k++) block[rivals.used[k]] = &gathered[k * BLOCK];
    for (std::size_t first = 0; first < size; first += BLOCK) {
        const std::size_t count = std::min(BLOCK, size - first);
        for (std::size_t k = 0; k < rivals.used.size(); k++)
            for (std::size_t i = 0; i < count; i++)
                gathered[k * BLOCK + i] = columns[rivals.used[k]][rows[first + i]];
        double greatest[BLOCK];
        for (std::size_t number = 0; number < rivals.forests.size(); number++) {
            const Forest &forest = rivals.forests[number];
            double sum[BLOCK] = {};
            add_block(forest, block.data(), forest.depth > USUAL_LEVELS ? BLOCK : width_of(count), sum);
            for (std::size_t i = 0; i < count; i++) {
                sum[i] += rivals.bias[number];
                if (number && sum[i] <= greatest[i]) continue;
                greatest[i] = sum[i];
                chosen[first + i] = number;
            }
        }
    }
}
