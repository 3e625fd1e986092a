// What the walk over a tree counts and hashes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

// The finaliser of splitmix64, as `hashing.mix`.
inline std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// The hash of a tuple of integers in CPython 3.8 and later: that of an integer is its value modulo 2 ** 61 - 1, and
// a round of xxHash joins them. `table.pyx` compares it with Python's own when it is imported.
inline std::uint64_t hash_of(std::int64_t value) {
    const std::uint64_t modulus = (std::uint64_t(1) << 61) - 1;
    const std::uint64_t magnitude = value < 0 ? 0 - std::uint64_t(value) : std::uint64_t(value);
    const std::uint64_t folded = (magnitude & modulus) + (magnitude >> 61);  // 2 ** 61 is 1 more than the modulus
    const std::int64_t rest = std::int64_t(folded < modulus ? folded : folded - modulus);
    return std::uint64_t(value >= 0 ? rest : rest == 1 ? -2 : -rest);
}

template <typename... Values> std::int64_t tuple_hash(Values... values) {
    std::uint64_t sum = 2870177450012600261u;
    for (const std::int64_t value : {std::int64_t(values)...}) {
        sum += hash_of(value) * 14029467366897019727u;
        sum = (sum << 31) | (sum >> 33);
        sum *= 11400714785074694791u;
    }
    sum += sizeof...(values) ^ (2870177450012600261u ^ 3527539u);
    return sum == ~std::uint64_t(0) ? 1546275796 : std::int64_t(sum);
}

// Numbers the children of each row that have one signature: a hash table with open addressing, for speed.
class Ranks {
    struct Entry {
        std::int64_t row = -1, signature = 0, count = 0;
    };
    std::vector<Entry> entries = std::vector<Entry>(64);
    std::size_t used = 0;

    Entry &find(std::int64_t row, std::int64_t signature) {
        std::size_t at = mix(std::uint64_t(row) * 31 + std::uint64_t(signature));
        for (;; at++) {
            Entry &entry = entries[at & (entries.size() - 1)];
            if (entry.row < 0 || (entry.row == row && entry.signature == signature)) return entry;
        }
    }
    void grow() {
        std::vector<Entry> old(entries.size() * 2);
        old.swap(entries);
        for (const Entry &entry : old)
            if (entry.row >= 0) find(entry.row, entry.signature) = entry;
    }

public:
    // Make room for so many rows and signatures, before the first call of `next`.
    void reserve(std::size_t most) {
        std::size_t size = entries.size();
        while (size < 2 * most) size *= 2;
        entries.resize(size);
    }

    // How often this was called before with a row, 0 or more, and a signature.
    std::int64_t next(std::int64_t row, std::int64_t signature) {
        if (used * 2 >= entries.size()) grow();
        Entry &entry = find(row, signature);
        if (entry.row < 0) {
            entry = {row, signature, 0};
            used++;
        }
        return entry.count++;
    }
};
