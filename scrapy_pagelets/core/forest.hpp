// Symmetric trees, and the forms of a function for several processors.
#pragma once
#include <cstddef>
#include <cstdint>

// Where the compiler can, it also makes a form for processors with AVX2, chosen when the module is loaded.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define FOR_ALL_PROCESSORS __attribute__((target_clones("avx2", "default")))
#define INLINED inline __attribute__((always_inline))  // into each of these forms
#else
#define FOR_ALL_PROCESSORS
#define INLINED inline
#endif

constexpr std::size_t BLOCK = 64;  // rows; the last block of a page has 16, 32 or 64
constexpr std::size_t USUAL_LEVELS = 6, MOST_LEVELS = 8;

// See `scrapy_pagelets.decision.classifiers.Trees`.
struct Forest {
    const std::uint16_t *feature;  // (trees, depth)
    const float *border;           // (trees, depth)
    const float *value;            // (trees, 2 ** depth)
    std::size_t trees, depth;
};

// The rows that are evaluated for so many of a block.
constexpr std::size_t width_of(std::size_t count) { return count > 32 ? BLOCK : count > 16 ? 32 : 16; }
