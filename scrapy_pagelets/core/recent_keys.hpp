// A hash table of limited size, which forgets its oldest keys.
#pragma once
#include "counter.hpp"

// Keys with small numbers, as `scrapy_pagelets.base.caches.RecentKeys`. Open addressing: a slot holds the position of a
// key plus 1, or 0. The positions are a ring once the table is full.
class RecentKeys {
    std::vector<std::int64_t> keys;
    std::vector<std::int8_t> numbers;
    std::vector<std::uint32_t> slots = std::vector<std::uint32_t>(16);
    std::size_t most = 0, oldest = 0;
    int shift = 60;

    std::size_t place(std::int64_t key) const { return (std::uint64_t(key) * multiplier) >> shift; }
    std::size_t slot(std::int64_t key) const {
        const std::size_t mask = slots.size() - 1;
        std::size_t at = place(key);
        while (slots[at] != 0 && keys[slots[at] - 1] != key) at = (at + 1) & mask;
        return at;
    }
    // Empty a slot, and move those after it that its key has kept from their places (Knuth, Volume 3, 6.4, Algorithm R).
    void empty(std::size_t hole) {
        const std::size_t mask = slots.size() - 1;
        for (std::size_t at = (hole + 1) & mask; slots[at] != 0; at = (at + 1) & mask) {
            const std::size_t home = place(keys[slots[at] - 1]);
            if (((at - home) & mask) < ((at - hole) & mask)) continue;
            slots[hole] = slots[at];
            hole = at;
        }
        slots[hole] = 0;
    }
    void make_room() {
        if (keys.size() == keys.capacity()) {
            const std::size_t room = std::min(most, keys.size() * 3 / 2 + 8);  // half the slack of doubling
            keys.reserve(room);
            numbers.reserve(room);
        }
        if ((keys.size() + 1) * 4 <= slots.size() * 3) return;
        slots.assign(slots.size() * 2, 0);
        shift--;
        for (std::size_t position = 0; position < keys.size(); position++)
            slots[slot(keys[position])] = std::uint32_t(position + 1);
    }

public:
    void begin(std::size_t limit) { most = limit; }
    std::size_t size() const { return keys.size(); }
    std::size_t bytes() const {
        return keys.capacity() * sizeof(std::int64_t) + numbers.capacity() + slots.capacity() * sizeof(std::uint32_t);
    }

    // The number of a key, -1 if it is not known.
    int find(std::int64_t key) const {
        const std::uint32_t found = slots[slot(key)];
        return found == 0 ? -1 : numbers[found - 1];
    }

    void add(std::int64_t key, std::int8_t number) {
        if (const std::uint32_t known = slots[slot(key)]; known != 0) {
            numbers[known - 1] = number;
            return;
        }
        std::size_t position = keys.size();
        if (position < most) {
            make_room();
            keys.push_back(key);
            numbers.push_back(number);
        } else {
            position = oldest;
            oldest = (oldest + 1) % most;
            empty(slot(keys[position]));
            keys[position] = key;
            numbers[position] = number;
        }
        slots[slot(key)] = std::uint32_t(position + 1);
    }

    // The key and the number that were added at some time; 0 is the time of the oldest key.
    std::int64_t key(std::size_t time) const { return keys[(oldest + time) % keys.size()]; }
    std::int8_t number(std::size_t time) const { return numbers[(oldest + time) % keys.size()]; }
};
