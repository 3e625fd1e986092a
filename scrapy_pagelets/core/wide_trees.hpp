// Symmetric trees of six levels on processors with registers of 64 bytes (AVX-512): the 64 values of a tree fit into
// four registers, and a permutation looks up those of sixteen rows at once. It is chosen when a forest is evaluated.
#pragma once
#include <cstddef>
#include <cstdint>

#include "forest.hpp"

// GCC has the shuffles of vectors from version 12 on.
#if defined(__x86_64__) && defined(__linux__) && __GNUC__ >= 12 && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define FOR_WIDE __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")))

using Floats16 __attribute__((vector_size(64), aligned(4), may_alias)) = float;
using Integers16 __attribute__((vector_size(64))) = std::int32_t;
using Floats8 __attribute__((vector_size(32))) = float;
using Doubles8 __attribute__((vector_size(64), aligned(8), may_alias)) = double;

inline bool is_wide() {
    static const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return wide;
}

// Add the values of all trees to the sums of some rows, sixteen for each of `WIDTH`.
template <std::size_t WIDTH>
FOR_WIDE inline void add_wide(const Forest &forest, const float *const *columns, double *sums) {
    constexpr std::size_t LANES = 16;
    Doubles8 total[2 * WIDTH];
    for (std::size_t k = 0; k < 2 * WIDTH; k++) total[k] = *reinterpret_cast<const Doubles8 *>(sums + 8 * k);
    for (std::size_t tree = 0; tree < forest.trees; tree++) {
        Integers16 number[WIDTH] = {};
        for (std::size_t level = 0; level < USUAL_LEVELS; level++) {
            const std::size_t split = tree * USUAL_LEVELS + level;
            const float *column = columns[forest.feature[split]];
            const Floats16 border = Floats16{} + forest.border[split];
            for (std::size_t k = 0; k < WIDTH; k++)
                number[k] |= (*reinterpret_cast<const Floats16 *>(column + LANES * k) > border) & (1 << level);
        }
        const Floats16 *values = reinterpret_cast<const Floats16 *>(forest.value + (tree << USUAL_LEVELS));
        const Floats16 first = values[0], second = values[1], third = values[2], fourth = values[3];
        for (std::size_t k = 0; k < WIDTH; k++) {
            const Floats16 low = __builtin_shuffle(first, second, number[k]);
            const Floats16 high = __builtin_shuffle(third, fourth, number[k]);
            const Floats16 found = (number[k] & 32) != 0 ? high : low;
            total[2 * k] += __builtin_convertvector(__builtin_shufflevector(found, found, 0, 1, 2, 3, 4, 5, 6, 7), Doubles8);
            total[2 * k + 1] +=
                __builtin_convertvector(__builtin_shufflevector(found, found, 8, 9, 10, 11, 12, 13, 14, 15), Doubles8);
        }
    }
    for (std::size_t k = 0; k < 2 * WIDTH; k++) *reinterpret_cast<Doubles8 *>(sums + 8 * k) = total[k];
}

// Add the values of all trees to the sums of a block of 16, 32 or 64, if that can be done here.
inline bool add_if_wide(const Forest &forest, const float *const *columns, std::size_t width, double *sums) {
    if (forest.depth != USUAL_LEVELS || !is_wide()) return false;
    if (width == 64) add_wide<4>(forest, columns, sums);
    else if (width == 32) add_wide<2>(forest, columns, sums);
    else add_wide<1>(forest, columns, sums);
    return true;
}
#else
inline bool add_if_wide(const Forest &, const float *const *, std::size_t, double *) { return false; }
#endif
