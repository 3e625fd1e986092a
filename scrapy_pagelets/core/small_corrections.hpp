// Corrections that most pages do not need: what is in doubt in lists, signs beside words, and whether there can be copies
// or lone headings at all; as `half_lines` and `corrections` of `scrapy_pagelets.decision`.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "counter.hpp"
#include "ranks.hpp"

// The numbers and tags of `scrapy_pagelets.decision.corrections`.
struct OfLists {
    std::vector<std::uint8_t> is_item;  // by tag
    double least, most, no_word, threshold, few_words;
};

// The elements of one parent and look.
struct Alike {
    double size = 0, kept = 0, words = 0, of_template = 0;

    // Some are template and some are not, and all have few words.
    bool is_torn(double few_words) const { return kept > 0 && kept < size && words <= few_words * size; }
};

// Templateness in which what is in doubt in short elements of one parent and look has their mean.
class Together {
    const Nodes &nodes;
    const OfLists &limits;
    std::vector<double> words, of_template;  // sums up to each leaf
    std::vector<std::int64_t> doubts;
    std::vector<std::size_t> rows, groups;
    std::vector<Alike> alike;

    bool in_doubt(double value) const { return value > limits.least && value < limits.most; }

    void add_up(const double *told) {
        words.resize(nodes.m + 1), of_template.resize(nodes.m + 1), doubts.resize(nodes.m + 1);
        for (std::size_t i = 0; i < nodes.m; i++) {
            const double weight = double(nodes.words[i]) + limits.no_word;
            words[i + 1] = words[i] + weight;
            of_template[i + 1] = of_template[i] + weight * told[i];
            doubts[i + 1] = doubts[i] + in_doubt(told[i]);
        }
    }

    void group() {
        Numbers numbers;
        for (std::size_t row = 1; row < nodes.n; row++) {
            const std::int64_t first = nodes.first_leaf[row], last = nodes.last_leaf[row], above = nodes.parent[row];
            if (first == last || !limits.is_item[std::size_t(nodes.tag[row])]) continue;
            if (doubts[nodes.last_leaf[above]] == doubts[nodes.first_leaf[above]]) continue;
            const std::size_t number = numbers.add(above * std::int64_t(nodes.looks) + nodes.look[row]) - 1;
            if (number == alike.size()) alike.emplace_back();
            Alike &one = alike[number];
            const double own = words[last] - words[first], own_template = of_template[last] - of_template[first];
            one.size++;
            one.kept += own_template < limits.threshold * own;
            one.words += own;
            one.of_template += own_template;
            rows.push_back(row);
            groups.push_back(number);
        }
    }

public:
    Together(const Nodes &nodes, const OfLists &limits) : nodes(nodes), limits(limits) {}

    // Change what is in doubt; of elements in each other, the inner ones come last.
    void decide(const double *told, double *found) {
        add_up(told);
        if (doubts.back() == 0) return;
        group();
        for (std::size_t i = 0; i < rows.size(); i++) {
            const Alike &one = alike[groups[i]];
            if (!one.is_torn(limits.few_words)) continue;
            const double mean = one.of_template / one.words;
            for (std::int64_t leaf = nodes.first_leaf[rows[i]]; leaf < nodes.last_leaf[rows[i]]; leaf++)
                if (in_doubt(told[leaf])) found[leaf] = mean;
        }
    }
};

// Give each run without words the value of the words before it in its line, or else behind it.
inline void follow_words(const Nodes &nodes, std::int64_t line, const double *told, double *found) {
    std::size_t begin = 0;
    while (begin < nodes.m) {
        std::size_t end = begin + 1, first = begin;
        while (end < nodes.m && nodes.gap[end] < line) end++;
        while (first < end && nodes.words[first] == 0) first++;
        std::size_t beside = first;
        for (std::size_t i = begin; i < end; i++) {
            if (nodes.words[i] > 0) beside = i;
            found[i] = told[first < end ? beside : i];
        }
        begin = end;
    }
}

// Whether one block of layout may have the text of another one behind it.
inline bool has_copies(const Nodes &nodes, const std::vector<std::uint8_t> &is_layout, std::int64_t least_runs,
                       std::int64_t least_words) {
    std::vector<std::uint64_t> texts(nodes.m + 1);
    std::vector<std::int64_t> words(nodes.m + 1);
    for (std::size_t i = 0; i < nodes.m; i++) {
        texts[i + 1] = texts[i] + mix(std::uint64_t(nodes.text[i]));
        words[i + 1] = words[i] + nodes.words[i];
    }
    std::vector<std::pair<std::uint64_t, std::size_t>> blocks;
    for (std::size_t row = 0; row < nodes.n; row++) {
        const std::int64_t first = nodes.first_leaf[row], last = nodes.last_leaf[row];
        if (!is_layout[std::size_t(nodes.tag[row])] || last - first < least_runs) continue;
        if (words[last] - words[first] >= least_words) blocks.emplace_back(texts[last] - texts[first], row);
    }
    std::sort(blocks.begin(), blocks.end());
    for (std::size_t i = 1; i < blocks.size(); i++)
        if (blocks[i].first == blocks[i - 1].first && std::int64_t(blocks[i].second) >= nodes.end[blocks[i - 1].second])
            return true;
    return false;
}

// Whether template follows a heading of content.
inline bool has_lone_heading(const Nodes &nodes, std::int64_t heading, std::int64_t text, const std::uint8_t *keep) {
    for (std::size_t row = 0; row < nodes.n; row++) {
        const std::int64_t first = nodes.first_leaf[row], last = nodes.last_leaf[row];
        if (first == last || last == std::int64_t(nodes.m) || !keep[first] || keep[last]) continue;
        if (nodes.signs[nodes.look[row]] & heading && nodes.tag[row] != text) return true;
    }
    return false;
}
