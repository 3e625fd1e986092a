// The words of a text, their shingles, and its sketch.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "forest.hpp"
#include "ranks.hpp"

enum Kind : std::uint8_t { NONE, PART, WHOLE };  // of a character, as in `scrapy_pagelets.duplicates.shingles`
constexpr std::size_t PLACES = 64;
constexpr std::uint64_t MULTIPLIER = 0x9E3779B97F4A7C15u;
constexpr std::uint64_t WHOLE_WEIGHT = 255;
constexpr std::size_t PERMUTATIONS = 128;

// Call `begin` for each word, and `part` for each of its characters.
template <class Code, class Begin, class Part>
inline void for_each_word(const Code *codes, std::size_t size, const std::uint8_t *kinds, Begin begin, Part part) {
    std::uint8_t before = NONE;
    for (std::size_t i = 0; i < size; i++) {
        const std::uint8_t kind = kinds[codes[i]];
        if (kind == WHOLE || (kind == PART && before != PART)) begin();
        if (kind != NONE) part(codes[i]);
        before = kind;
    }
}

// Add the hash of each word: the sum of its characters, weighted by position, is mixed.
template <class Code>
void add_words(const Code *codes, std::size_t size, const std::uint8_t *kinds, const std::uint64_t *places,
               std::vector<std::uint64_t> &words) {
    std::size_t place = 0, first = words.size();
    for_each_word(
        codes, size, kinds, [&] { words.push_back(place = 0); },
        [&](Code code) { words.back() += places[place++ & (PLACES - 1)] * code; });
    for (std::size_t i = first; i < words.size(); i++) words[i] = mix(words[i]);
}

template <class Code>
std::size_t count_words(const Code *codes, std::size_t size, const std::uint8_t *kinds) {
    std::size_t words = 0;
    for_each_word(codes, size, kinds, [&] { words++; }, [](Code) {});
    return words;
}

// Write the hash, of 32 bits, of each run of `size` words.
inline void write_windows(const std::uint64_t *words, std::size_t count, std::size_t size, std::uint64_t *out) {
    for (std::size_t i = 0; i + size <= count; i++) {
        std::uint64_t hash = words[i];
        for (std::size_t step = 1; step < size; step++) hash = hash * MULTIPLIER + words[i + step];
        out[i] = mix(hash) >> 32;
    }
}

// Put the least weight of its words behind each hash, so that of equal hashes the one of the largest weight is the
// first when they are sorted.
inline void add_weights(const double *weights, std::size_t count, std::size_t size, std::uint64_t *hashes) {
    for (std::size_t i = 0; i + size <= count; i++) {
        const double least = *std::min_element(weights + i, weights + i + size);
        const auto level = static_cast<std::uint64_t>(std::max(std::nearbyint(least * WHOLE_WEIGHT), 1.0));
        hashes[i] = hashes[i] << 8 | (WHOLE_WEIGHT - level);
    }
}

// The finaliser of MurmurHash3.
inline std::uint32_t scramble(std::uint32_t h) {
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

// Write the least value of the shingles under each permutation.
FOR_ALL_PROCESSORS inline void write_sketch(const std::uint32_t *shingles, std::size_t count, const std::uint32_t *factor,
                                            const std::uint32_t *summand, std::uint32_t *out) {
    std::uint32_t least[PERMUTATIONS];
    std::fill_n(least, PERMUTATIONS, UINT32_MAX);
    for (std::size_t i = 0; i < count; i++) {
        const std::uint32_t mixed = scramble(shingles[i]);
        for (std::size_t p = 0; p < PERMUTATIONS; p++) least[p] = std::min(least[p], factor[p] * mixed + summand[p]);
    }
    std::copy_n(least, PERMUTATIONS, out);
}
