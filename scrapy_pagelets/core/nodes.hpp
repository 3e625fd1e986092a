// What features are made of: sums, regions, orders, columns of a matrix.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "ranks.hpp"

using Doubles = std::vector<double>;
using Integers = std::vector<std::int64_t>;

// A column of the values of a function, from 0 to count - 1.
template <typename Function> Doubles column(std::size_t count, Function value) {
    Doubles values(count);
    for (std::size_t i = 0; i < count; i++) values[i] = value(i);
    return values;
}

// The sum from the first value to the last, as `page.sums.in_order`, of those that a function chooses.
template <typename Function> double sum_if(const Doubles &values, Function chosen) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); i++)
        if (chosen(i)) sum += values[i];
    return sum;
}

// The sums of a column of the leaves: up to a leaf, or below a row.
class Sums {
    Doubles before;

public:
    Sums() = default;
    template <typename Function> Sums(std::size_t count, Function value) : before(count + 1) {
        for (std::size_t i = 0; i < count; i++) before[i + 1] = before[i] + value(i);
    }
    explicit Sums(const Doubles &values) : Sums(values.size(), [&](std::size_t i) { return values[i]; }) {}
    double to(std::size_t i) const { return before[i]; }  // of the values before i
    double between(std::size_t i, std::size_t j) const { return before[j] - before[i]; }
    double all() const { return before.back(); }
    double below(const Nodes &nodes, std::size_t row) const {
        return between(std::size_t(nodes.first_leaf[row]), std::size_t(nodes.last_leaf[row]));
    }
};

// Whether all leaves of the row above are below a row.
inline bool has_all_leaves(const Nodes &nodes, std::size_t row) {
    const std::int64_t above = nodes.parent[row];
    return nodes.first_leaf[above] == nodes.first_leaf[row] && nodes.last_leaf[above] == nodes.last_leaf[row];
}

// As `page_features.regions`: (levels, m) row of the region of each leaf at each level.
inline std::vector<Integers> regions(const Nodes &nodes, std::size_t levels) {
    Integers larger(nodes.n);
    for (std::size_t row = 1; row < nodes.n; row++) {
        const std::int64_t above = nodes.parent[row];
        larger[row] = above > 0 && has_all_leaves(nodes, row) ? larger[above] : above;
    }
    std::vector<Integers> rows(levels, Integers(nodes.m));
    for (std::size_t level = 0; level < levels; level++)
        for (std::size_t i = 0; i < nodes.m; i++) rows[level][i] = larger[level ? rows[level - 1][i] : nodes.leaves[i]];
    return rows;
}

// (m,) a value of the row of each leaf, or of the nearest row above it where it is not 0.
template <typename Function> Integers inherited(const Nodes &nodes, Function value) {
    Integers of_row(nodes.n), of_leaf(nodes.m);
    for (std::size_t row = 0; row < nodes.n; row++) {
        of_row[row] = value(row);
        if (row && of_row[row] == 0) of_row[row] = of_row[nodes.parent[row]];
    }
    for (std::size_t i = 0; i < nodes.m; i++) of_leaf[i] = of_row[nodes.leaves[i]];
    return of_leaf;
}
inline Integers inherited_by_look(const Nodes &nodes, const std::int64_t *of_look) {
    return inherited(nodes, [=, &nodes](std::size_t row) { return of_look[nodes.look[row]]; });
}
inline Integers inherited_by_tag(const Nodes &nodes, const std::int64_t *of_tag) {
    return inherited(nodes, [=, &nodes](std::size_t row) { return of_tag[nodes.tag[row]]; });
}

// An integer that sorts like a number; both zeros have the same.
inline std::uint64_t sortable(double value) {
    constexpr std::uint64_t SIGN = std::uint64_t(1) << 63;
    std::uint64_t bits;
    value += 0.0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits & SIGN ? ~bits : bits | SIGN;
}

// The order of ascending values; equal ones keep theirs. A radix sort by bytes, which takes a third of the time of
// `std::sort` on a long page.
inline std::vector<std::uint32_t> ascending(const Doubles &values) {
    constexpr std::size_t BYTES = 8, RANGE = 256;
    const std::size_t count = values.size();
    std::vector<std::pair<std::uint64_t, std::uint32_t>> entries(count), sorted(count);
    std::vector<std::uint32_t> starts(BYTES * RANGE), order(count);
    const auto byte = [](std::uint64_t key, std::size_t number) { return number * RANGE + (key >> 8 * number & 255); };
    for (std::size_t i = 0; i < count; i++) {
        entries[i] = {sortable(values[i]), std::uint32_t(i)};
        for (std::size_t number = 0; number < BYTES; number++) starts[byte(entries[i].first, number)]++;
    }
    for (std::size_t number = 0; number < BYTES && count; number++) {
        if (starts[byte(entries[0].first, number)] == count) continue;  // all have the same byte
        std::uint32_t start = 0;
        for (std::size_t value = 0; value < RANGE; value++)
            start += std::exchange(starts[number * RANGE + value], start);
        for (const auto &entry : entries) sorted[starts[byte(entry.first, number)]++] = entry;
        entries.swap(sorted);
    }
    for (std::size_t i = 0; i < count; i++) order[i] = entries[i].second;
    return order;
}

// The first place in ascending values from which on they are not less than a value; the last place if all are less.
inline std::size_t place(const Doubles &values, double value) {
    const auto found = std::lower_bound(values.begin(), values.end(), value) - values.begin();
    return std::min(std::size_t(found), values.size() - 1);
}

// Numbers distinct integers from 0, in the order of their first occurrence: open addressing, for speed.
class Numbers {
    std::vector<std::uint32_t> slots;  // one more than the number; 0 if free
    Integers distinct;

public:
    explicit Numbers(std::size_t most) {
        std::size_t size = 16;
        while (size < 2 * most) size *= 2;
        slots.resize(size);
    }
    std::size_t operator[](std::int64_t value) {
        for (std::size_t at = mix(std::uint64_t(value));; at++) {
            std::uint32_t &slot = slots[at & (slots.size() - 1)];
            if (slot && distinct[slot - 1] != value) continue;
            if (!slot) {
                distinct.push_back(value);
                slot = std::uint32_t(distinct.size());
            }
            return slot - 1;
        }
    }
    std::size_t count() const { return distinct.size(); }
};

// Cuts a buffer into parts. NumPy takes logarithms and exponentials of whole buffers: its routines and those of the C
// library differ in the last bit.
class Parts {
    double *next;

public:
    explicit Parts(Doubles &buffer) : next(buffer.data()) {}
    double *part(std::size_t size) {
        next += size;
        return next - size;
    }
};

using Names = std::vector<std::string>;

// Writes the columns of a matrix, (count,) each, by their names in a table of features in Python. A column that the
// table does not have is left out.
class Columns {
    float *matrix = nullptr;
    std::size_t count = 0, next = 0;
    const Names *names = nullptr;
    std::vector<bool> written;

    // Columns come in the order of the table, so that it is nearly always the next one.
    float *place(std::string_view name) {
        if (next >= names->size() || (*names)[next] != name)
            next = std::size_t(std::find(names->begin(), names->end(), name) - names->begin());
        if (next == names->size()) return nullptr;
        written[next] = true;
        return matrix + next++ * count;
    }

public:
    Columns() = default;
    Columns(float *matrix, std::size_t count, const Names &names)
        : matrix(matrix), count(count), names(&names), written(names.size()) {}
    template <typename Function> bool add(std::string_view name, Function value) {
        float *column = place(name);
        for (std::size_t i = 0; column && i < count; i++) column[i] = float(value(i));
        return column;
    }
    void add_equal(std::string_view name, double value) {
        if (float *column = place(name)) std::fill_n(column, count, float(value));
    }
    std::vector<std::size_t> absent() const {
        std::vector<std::size_t> numbers;
        for (std::size_t j = 0; j < written.size(); j++)
            if (!written[j]) numbers.push_back(j);
        return numbers;
    }
};

// A name with a number at its end.
inline std::string numbered(const std::string &name, std::size_t number) { return name + std::to_string(number); }
