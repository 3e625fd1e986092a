// Hash tables from the keys of a page, or of a site, to numbers in the order in which the keys came.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// Odd, and drawn anew by each process, so that no page can choose keys that all fall into one place.
inline std::uint64_t multiplier = 0x9E3779B97F4A7C15u;

// Numbers distinct keys from 1 on. Open addressing: a slot holds the number of a key, or 0.
class Numbers {
    std::vector<std::int64_t> keys = {0};  // by number
    std::vector<std::uint32_t> slots = std::vector<std::uint32_t>(16);
    int shift = 60;
    std::size_t last = 0;  // the number that was found last

    // Whether a key has the number after that. The keys of a page mostly come in the order of an earlier page, and a
    // look at the next one saves a look at a slot, which is seldom in the processor's cache.
    bool follows(std::int64_t key) const { return last + 1 < keys.size() && keys[last + 1] == key; }
    std::size_t place(std::int64_t key) const { return (std::uint64_t(key) * multiplier) >> shift; }
    std::uint32_t &slot(std::int64_t key) {
        const std::size_t mask = slots.size() - 1;
        std::size_t at = place(key);
        while (slots[at] != 0 && keys[slots[at]] != key) at = (at + 1) & mask;
        return slots[at];
    }
    void spread() {
        std::fill(slots.begin(), slots.end(), 0);
        for (std::size_t number = 1; number < keys.size(); number++) slot(keys[number]) = std::uint32_t(number);
    }

public:
    Numbers() = default;
    // Begin with room for this many keys.
    explicit Numbers(std::size_t most) {
        while (slots.size() * 3 < (most + 1) * 4) slots.resize(slots.size() * 2), shift--;
        keys.reserve(most + 1);
    }
    std::size_t size() const { return keys.size() - 1; }
    std::int64_t key(std::size_t number) const { return keys[number]; }
    std::size_t bytes() const { return keys.capacity() * sizeof(std::int64_t) + slots.capacity() * sizeof(std::uint32_t); }

    // The number of a key, 0 if it has none.
    std::size_t find(std::int64_t key) { return follows(key) ? ++last : last = slot(key); }

    // The number of a key, which is `size() + 1` before the call if it is new.
    std::size_t add(std::int64_t key) {
        if (follows(key)) return ++last;
        std::uint32_t &found = slot(key);
        if (found != 0) return last = found;
        found = std::uint32_t(keys.size());
        if (keys.size() == keys.capacity()) keys.reserve(keys.size() * 3 / 2 + 8);  // half the slack of doubling
        keys.push_back(key);
        if (keys.size() * 4 > slots.size() * 3) {
            slots.resize(slots.size() * 2);
            shift--;
            spread();
        }
        return last = size();
    }

    // Keep the keys whose entry is not 0, and number them anew.
    void retain(const std::vector<std::uint8_t> &kept) {
        std::vector<std::int64_t> rest = {0};
        for (std::size_t number = 1; number < keys.size(); number++)
            if (kept[number]) rest.push_back(keys[number]);
        keys.swap(rest);
        last = 0;
        spread();
    }
};

// Sums by key, as `scrapy_pagelets.evidence.lossy_counter.LossyCounter`.
class Counter {
    Numbers numbers;
    std::vector<float> sums;  // a row for each number; row 0 holds the zeros of all missing keys
    std::size_t columns = 0, capacity = 0;
    std::vector<bool> counted;         // by number: whether the key was added since the last `shrink`
    std::vector<std::uint32_t> added;  // the numbers of these keys

    void retain(float least) {
        std::vector<std::uint8_t> kept(size() + 1);
        std::size_t rows = 1;
        for (std::size_t number = 1; number <= size(); number++) {
            kept[number] = sums[number * columns] > least;
            if (kept[number]) std::copy_n(&sums[number * columns], columns, &sums[rows++ * columns]);
        }
        sums.resize(rows * columns);
        sums.shrink_to_fit();
        numbers.retain(kept);
    }

public:
    void begin(std::size_t width, std::size_t most) {
        columns = width;
        capacity = most;
        sums.assign(width, 0);
    }
    std::size_t width() const { return columns; }
    std::size_t most() const { return capacity; }
    std::size_t size() const { return numbers.size(); }
    std::int64_t key(std::size_t number) const { return numbers.key(number); }
    std::size_t find(std::int64_t key) { return numbers.find(key); }
    std::size_t bytes() const {
        return numbers.bytes() + sums.capacity() * sizeof(float) + counted.capacity() / 8 +
               added.capacity() * sizeof(std::uint32_t);
    }

    // The sums of a key, to be read until the next change.
    const float *of(std::int64_t key) { return &sums[numbers.find(key) * columns]; }
    const float *of_number(std::size_t number) const { return &sums[number * columns]; }

    // The sums of a key, to be changed until the next call; zeros if it is new.
    float *add(std::int64_t key) {
        const std::size_t number = numbers.add(key);
        if (number * columns == sums.size()) {
            if (sums.size() + columns > sums.capacity()) sums.reserve(sums.size() * 3 / 2 + 8 * columns);
            sums.resize(sums.size() + columns);
        }
        return &sums[number * columns];
    }

    // The same, but nullptr if the key was added in this way since the last call of `shrink`.
    float *add_once(std::int64_t key, std::size_t known = 0) {
        float *found = known ? &sums[known * columns] : add(key);
        const std::size_t number = std::size_t(found - sums.data()) / columns;
        if (number >= counted.size()) counted.resize(number * 3 / 2 + 8);
        if (counted[number]) return nullptr;
        counted[number] = true;
        added.push_back(std::uint32_t(number));
        return found;
    }

    // End a page: drop the keys with the smallest counts until the rest fits.
    void shrink() {
        for (const std::uint32_t number : added) counted[number] = false;
        std::vector<std::uint32_t>().swap(added);
        for (float least = 1; size() > capacity; least *= 2) retain(least);
    }
};

// Add in double precision, and round: as NumPy does with a column of floats and one of doubles.
inline void plus(float &sum, double value) { sum = float(double(sum) + value); }
