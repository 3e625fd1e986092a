// The alignment of a page with a template, as `scrapy_pagelets.evidence.class_template.align_page`.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "counter.hpp"
#include "ranks.hpp"

constexpr std::int64_t RUN_OF_TEXT = 1;  // the label of a run of text

// A tree in preorder; the columns are those of a `TemplateTree`.
struct Tree {
    std::size_t size;
    const std::int64_t *parent, *end, *depth, *label, *text;
};

// The rows of each depth, in document order: `order[starts[d]] ... order[starts[d + 1] - 1]`.
struct Levels {
    std::vector<std::size_t> order, starts;

    explicit Levels(const Tree &tree) : order(tree.size) {
        for (std::size_t row = 0; row < tree.size; row++) {
            const std::size_t depth = std::size_t(tree.depth[row]);
            if (starts.size() < depth + 2) starts.resize(depth + 2);
            starts[depth + 1]++;
        }
        for (std::size_t depth = 1; depth < starts.size(); depth++) starts[depth] += starts[depth - 1];
        std::vector<std::size_t> next = starts;
        for (std::size_t row = 0; row < tree.size; row++) order[next[std::size_t(tree.depth[row])]++] = row;
    }
    std::size_t size() const { return starts.size() - 1; }
};

// The runs of text of one tree that another has as well, in document order.
struct Texts {
    std::vector<std::uint64_t> text, sums = {0};  // hashes, and the sums of the scrambled ones before each
    std::vector<std::size_t> before = {0};        // by row of the tree: the number of runs before it
    const Tree &tree;

    Texts(const Tree &own, const Tree &other) : tree(own) {
        Numbers others;
        for (std::size_t row = 0; row < other.size; row++)
            if (other.label[row] == RUN_OF_TEXT) others.add(other.text[row]);
        before.reserve(tree.size + 1);
        for (std::size_t row = 0; row < tree.size; row++) {
            if (tree.label[row] == RUN_OF_TEXT && others.find(tree.text[row])) {
                text.push_back(std::uint64_t(tree.text[row]));
                sums.push_back(sums.back() + mix(text.back()));
            }
            before.push_back(text.size());
        }
    }
    std::size_t first(std::size_t row) const { return before[row]; }
    std::size_t last(std::size_t row) const { return before[std::size_t(tree.end[row])]; }
    std::uint64_t sum(std::size_t row) const { return sums[last(row)] - sums[first(row)]; }
};

// Rows of one side and level that are still free; only rows of equal keys may be paired.
struct Siblings {
    const Texts &texts;
    std::vector<std::size_t> rows;
    std::vector<std::uint64_t> keys;

    // Keep the rows of which `free` is true.
    template <typename Free> void keep(Free free) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < rows.size(); i++) {
            if (!free(rows[i])) continue;
            rows[kept] = rows[i];
            keys[kept++] = keys[i];
        }
        rows.resize(kept);
        keys.resize(kept);
    }
};

// Keys with the index of the sibling to which each belongs.
using Keyed = std::vector<std::pair<std::uint64_t, std::size_t>>;

// Call `pair` with the k-th occurrence of each key in one column and the k-th in the other.
template <typename Pair> void in_order(const Keyed &ours, const Keyed &theirs, Pair pair) {
    Numbers numbers(theirs.size());
    const std::size_t none = theirs.size();
    std::vector<std::size_t> head = {none}, tail = {none}, next(theirs.size(), none);
    for (std::size_t j = 0; j < theirs.size(); j++) {
        const std::size_t number = numbers.add(std::int64_t(theirs[j].first));
        if (number == head.size()) {
            head.push_back(j);
            tail.push_back(j);
        } else {
            next[tail[number]] = j;
            tail[number] = j;
        }
    }
    for (const auto &[key, index] : ours) {
        std::size_t &first = head[numbers.find(std::int64_t(key))];
        if (first == none) continue;
        pair(index, theirs[first].second);
        first = next[first];
    }
}

class Alignment {
    const Texts one, two;
    const Tree &page, &other;
    std::vector<std::uint8_t> taken;
    std::int64_t *found;

    void match(std::size_t row, std::size_t image) {
        found[row] = std::int64_t(image);
        taken[image] = 1;
    }
    // Pair siblings below which the same texts stand.
    void same(const Siblings &ours, const Siblings &theirs) {
        const auto keyed = [](const Siblings &side) {
            Keyed keys;
            for (std::size_t i = 0; i < side.rows.size(); i++)
                if (const std::uint64_t sum = side.texts.sum(side.rows[i])) keys.emplace_back(side.keys[i] + sum, i);
            return keys;
        };
        in_order(keyed(ours), keyed(theirs),
                 [&](std::size_t i, std::size_t j) { match(ours.rows[i], theirs.rows[j]); });
    }
    // Pair siblings by the number of texts that both have below them, the largest numbers first.
    void by_votes(const Siblings &ours, const Siblings &theirs) {
        const auto keyed = [](const Siblings &side) {
            Keyed keys;
            for (std::size_t i = 0; i < side.rows.size(); i++)
                for (std::size_t k = side.texts.first(side.rows[i]); k < side.texts.last(side.rows[i]); k++)
                    keys.emplace_back(side.keys[i] + side.texts.text[k], i);
            return keys;
        };
        std::vector<std::pair<std::size_t, std::size_t>> pairs;
        in_order(keyed(ours), keyed(theirs), [&](std::size_t i, std::size_t j) { pairs.emplace_back(i, j); });
        std::sort(pairs.begin(), pairs.end());
        struct Votes {
            std::size_t count, i, j;
        };
        std::vector<Votes> votes;
        for (const auto &[i, j] : pairs) {
            if (votes.empty() || votes.back().i != i || votes.back().j != j) votes.push_back({0, i, j});
            votes.back().count++;
        }
        std::stable_sort(votes.begin(), votes.end(), [](const Votes &a, const Votes &b) { return a.count > b.count; });
        for (const Votes &vote : votes)
            if (found[ours.rows[vote.i]] < 0 && !taken[theirs.rows[vote.j]])
                match(ours.rows[vote.i], theirs.rows[vote.j]);
    }
    void by_order(const Siblings &ours, const Siblings &theirs) {
        const auto keyed = [](const Siblings &side) {
            Keyed keys;
            for (std::size_t i = 0; i < side.rows.size(); i++) keys.emplace_back(side.keys[i], i);
            return keys;
        };
        in_order(keyed(ours), keyed(theirs),
                 [&](std::size_t i, std::size_t j) { match(ours.rows[i], theirs.rows[j]); });
    }
    static std::uint64_t key(std::int64_t parent, std::int64_t label) {
        return mix(std::uint64_t(parent) * 31 + std::uint64_t(label));
    }

public:
    Alignment(const Tree &page, const Tree &other, std::int64_t *found)
        : one(page, other), two(other, page), page(page), other(other), taken(other.size), found(found) {}

    // Write the row of the other tree for each row of the page, -1 for none.
    void run() {
        std::fill(found, found + page.size, -1);
        if (!page.size || !other.size || page.label[0] != other.label[0]) return;
        found[0] = 0;
        const Levels levels(page), others(other);
        for (std::size_t depth = 1; depth < std::min(levels.size(), others.size()); depth++) {
            Siblings ours{one, {}, {}}, theirs{two, {}, {}};
            for (std::size_t k = levels.starts[depth]; k < levels.starts[depth + 1]; k++) {
                const std::size_t row = levels.order[k];
                const std::int64_t image = found[page.parent[row]];
                if (image < 0) continue;
                ours.rows.push_back(row);
                ours.keys.push_back(key(image, page.label[row]));
            }
            if (ours.rows.empty()) return;
            for (std::size_t k = others.starts[depth]; k < others.starts[depth + 1]; k++) {
                const std::size_t row = others.order[k];
                theirs.rows.push_back(row);
                theirs.keys.push_back(key(other.parent[row], other.label[row]));
            }
            for (const auto pass : {&Alignment::same, &Alignment::by_votes, &Alignment::by_order}) {
                (this->*pass)(ours, theirs);
                ours.keep([&](std::size_t row) { return found[row] < 0; });
                theirs.keep([&](std::size_t row) { return !taken[row]; });
            }
        }
    }
};
