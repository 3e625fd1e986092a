// What a page says of itself, and what is torn out of its content, as `scrapy_pagelets.decision.content`.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "columns.hpp"

// The numbers and tags of `scrapy_pagelets.decision.content`.
struct Limits {
    std::int64_t cell, line, text, heading;          // gaps, the tag of runs of text, the sign of headings
    double threshold, of_line, whole, announcing, most, certain, byline, in_doubt;
    double of_blocks, least, half, linked;  // of `scrapy_pagelets.decision.content`
    std::vector<std::uint8_t> is_list, is_item, is_heading, is_block;  // by tag
};

class Corrections {
    using Mask = std::vector<std::uint8_t>;
    using Counts = std::vector<std::int64_t>;
    const Nodes &nodes;
    const Limits &limits;
    const double *const told;        // templateness without corrections
    std::vector<std::size_t> lists;  // rows
    Counts words;                    // sums up to each leaf

    bool is(const std::vector<std::uint8_t> &tags, std::size_t row) const { return tags[std::size_t(nodes.tag[row])]; }
    std::size_t first(std::size_t row) const { return std::size_t(nodes.first_leaf[row]); }
    std::size_t last(std::size_t row) const { return std::size_t(nodes.last_leaf[row]); }
    std::int64_t below(const Counts &sums, std::size_t row) const { return sums[last(row)] - sums[first(row)]; }
    std::int64_t leaves(std::size_t row) const { return nodes.last_leaf[row] - nodes.first_leaf[row]; }
    bool is_kept(std::size_t leaf) const { return found[leaf] < limits.threshold; }

    template <typename Function> Counts sums(Function value) const {
        Counts sums(nodes.m + 1);
        for (std::size_t i = 0; i < nodes.m; i++) sums[i + 1] = sums[i] + value(i);
        return sums;
    }
    Counts kept_leaves() const {
        return sums([&](std::size_t i) { return std::int64_t(is_kept(i)); });
    }
    Counts kept_words() const {
        return sums([&](std::size_t i) { return is_kept(i) ? nodes.words[i] : 0; });
    }

    // The first leaf behind a line that begins with a leaf.
    std::size_t line_end(std::size_t leaf, std::int64_t gap) const {
        do leaf++;
        while (leaf < nodes.m && nodes.gap[leaf] < gap);
        return leaf;
    }

    // Words without links of the line that ends with a leaf.
    double announcing_words(std::size_t leaf) const {
        std::int64_t count = 0;
        for (std::size_t i = leaf + 1; i-- > 0;) {
            if (!nodes.linked(i)) count += nodes.words[i];
            if (nodes.gap[i] >= limits.line) break;
        }
        return double(count);
    }

    Mask leaves_of_headings() const {
        Mask inside(nodes.m);
        for (std::size_t row = 0; row < nodes.n; row++)
            if (nodes.signs[nodes.look[row]] & limits.heading && nodes.tag[row] != limits.text)
                std::fill(inside.begin() + first(row), inside.begin() + last(row), 1);
        return inside;
    }

    // The element that a title belongs to. One around the title alone is passed by.
    // In that of a linked one, as of a post, a header may hold only a date besides: then it is the smallest element that
    // has content or begins before it. What is template for certain names the site.
    std::size_t around_title(std::size_t row, const Counts &kept) const {
        std::size_t above = std::size_t(nodes.parent[row] < 0 ? std::int64_t(nodes.n) - 1 : nodes.parent[row]);
        const double least = *std::min_element(found.begin() + first(row), found.begin() + last(row));
        if (least > limits.certain) return above;
        const double most = nodes.linked(first(row)) ? limits.byline : 0;
        while (nodes.parent[above] >= 0 && first(above) == first(row) && below(kept, above) == 0 &&
               double(below(words, above) - below(words, row)) <= most)
            above = std::size_t(nodes.parent[above]);
        return above;
    }

    // Whether most words around a title are content, and what follows it, but nothing of itself. Titles begin at `starts`.
    // `titles` begin at the leaves `starts`. What follows stands below the titles of lower levels right behind the row.
    bool is_lost_title(std::size_t row, const Counts &kept, const Counts &starts, const std::vector<std::size_t> &titles) const {
        const std::size_t above = around_title(row, kept);
        const std::int64_t others = below(words, above) - below(words, row);
        if (others <= 0 || double(below(kept, above)) < limits.most * double(others) || below(kept, row) != 0) return false;
        if (last(row) < nodes.m && is_kept(last(row))) return true;
        auto next = std::lower_bound(starts.begin(), starts.end(), std::int64_t(last(row)));
        std::size_t from = last(row);
        for (; next != starts.end() && std::size_t(*next) == from && is(limits.is_heading, row); ++next) {
            const std::size_t title = titles[std::size_t(next - starts.begin())];
            if (!is(limits.is_heading, title) || nodes.tag[title] <= nodes.tag[row]) break;
            from = last(title);
        }
        const std::size_t until = std::min(last(above), next == starts.end() ? nodes.m : std::size_t(*next));
        if (until <= from) return false;
        const std::int64_t follows = kept[until] - kept[from];
        return follows > 0 && double(follows) >= limits.most * double(words[until] - words[from]);
    }

    bool is_hole(std::size_t row, const Counts &kept) const {
        return double(below(kept, row)) < limits.half * double(below(words, row));
    }

    bool is_no_menu(std::size_t row) const {
        std::int64_t linked = 0;
        for (std::size_t i = first(row); i < last(row); i++)
            if (nodes.linked(i)) linked += nodes.words[i];
        return double(linked) <= limits.linked * double(below(words, row));
    }

    // Whether a block without links stands right below a heading of content that is not the first text of its element.
    bool ends_section(std::size_t row, std::int64_t first_text) const {
        std::size_t before = row - 1;  // the last row of what stands before the block
        while (nodes.parent[before] >= 0 && nodes.parent[before] != nodes.parent[row]) before = std::size_t(nodes.parent[before]);
        if (nodes.parent[before] != nodes.parent[row] || !is(limits.is_heading, before) || std::int64_t(before) <= first_text) return false;
        for (std::size_t i = first(row); i < last(row); i++)
            if (nodes.linked(i)) return false;
        return first(before) < last(before) && is_kept(first(before));
    }

    bool is_in_doubt(std::size_t row) const {
        const auto begin = found.begin() + first(row), end = found.begin() + last(row);
        if (std::any_of(begin, end, [&](double value) { return value < limits.threshold; }))
            return *std::max_element(begin, end) <= limits.in_doubt;
        double sum = 0;
        for (auto value = begin; value != end; value++) sum += *value;
        return sum / double(leaves(row)) <= limits.in_doubt;
    }

public:
    std::vector<double> found;  // templateness of the leaves
    Counts announced;           // rows of lists that a line announces, if that ends in a colon

    Corrections(const Nodes &nodes, const Limits &limits, const double *templateness)
        : nodes(nodes), limits(limits), told(templateness), words(sums([&](std::size_t i) { return nodes.words[i]; })),
          found(templateness, templateness + nodes.m) {
        for (std::size_t row = 0; row < nodes.n; row++)
            if (is(limits.is_list, row)) lists.push_back(row);
    }

    void set(std::size_t row, double value) { std::fill(found.begin() + first(row), found.begin() + last(row), value); }

    // Keep a line whole if its words are content on average; what the passes miss of it gets the average.
    void keep_lines() {
        for (std::size_t begin = 0, end; begin < nodes.m; begin = end) {
            end = line_end(begin, limits.cell);
            double sum = 0;
            for (std::size_t i = begin; i < end; i++) sum += told[i] * double(nodes.words[i]);
            const double count = double(words[end] - words[begin]);
            for (std::size_t i = begin; i < end && sum < limits.of_line * count; i++)
                if (!is_kept(i)) found[i] = sum / count;
        }
    }

    // Keep the items of lists that are content but for some items, no more than the others; collect the lists that a line
    // above announces.
    void keep_items() {
        const Counts count = kept_leaves(), kept = kept_words();
        std::vector<std::size_t> lost;
        Mask of_list(nodes.n);
        announced.clear();
        for (const std::size_t row : lists) {
            const bool follows = first(row) > 0 && first(row) < last(row) && is_kept(first(row) - 1);
            if (below(count, row) == leaves(row) || !(below(count, row) || follows)) continue;
            const std::int64_t inside = below(kept, row);
            of_list[row] = inside > 0 && double(inside) >= limits.whole * double(below(words, row));
            if (follows && nodes.gap[first(row)] >= limits.line && announcing_words(first(row) - 1) >= limits.announcing)
                announced.push_back(std::int64_t(row));
        }
        Counts more(nodes.n);  // of a list, by how many its items with content are more than those without
        for (std::size_t row = 1; row < nodes.n; row++) {
            if (!of_list[nodes.parent[row]] || !is(limits.is_item, row)) continue;
            more[nodes.parent[row]] += below(count, row) ? 1 : -1;
            if (below(count, row) == 0) lost.push_back(row);
        }
        for (const std::size_t row : lost)
            if (more[nodes.parent[row]] >= 0) set(row, 0);
    }

    // Keep the blocks that are template between blocks of content, and the ends of sections.
    void fill_holes() {
        const Counts kept = kept_words();
        std::vector<std::size_t> blocks, filled;
        Counts of_above(nodes.n), kept_of_above(nodes.n), first_text(nodes.n, -1), last_text(nodes.n, -1);
        for (std::size_t row = 1; row < nodes.n; row++) {
            if (!is(limits.is_block, row)) continue;
            const std::size_t above = std::size_t(nodes.parent[row]);
            blocks.push_back(row);
            of_above[above] += below(words, row);
            kept_of_above[above] += below(kept, row);
            if (is_hole(row, kept) || below(kept, row) == 0) continue;
            if (first_text[above] < 0) first_text[above] = std::int64_t(row);
            last_text[above] = std::int64_t(row);
        }
        for (const std::size_t row : blocks) {
            const std::size_t above = std::size_t(nodes.parent[row]);
            const bool between = first_text[above] >= 0 && first_text[above] < std::int64_t(row) &&
                                 (std::int64_t(row) < last_text[above] || ends_section(row, first_text[above]));
            if (between && is_hole(row, kept) && double(kept_of_above[above]) >= limits.least &&
                double(kept_of_above[above]) >= limits.of_blocks * double(of_above[above]) && is_no_menu(row))
                filled.push_back(row);
        }
        for (const std::size_t row : filled) set(row, 0);
    }

    // Keep titles of what is content; those of admonitions have the looks in `is_label`.
    void keep_headings(const Mask &is_label, const std::uint8_t *marks) {
        const Counts kept = kept_words();
        std::vector<std::size_t> titles, lost;
        Counts starts;
        for (std::size_t row = 0; row < nodes.n; row++) {
            if (!is(limits.is_heading, row) && (nodes.tag[row] == limits.text || !is_label[nodes.look[row]])) continue;
            if (first(row) == last(row)) continue;
            titles.push_back(row);
            starts.push_back(nodes.first_leaf[row]);
        }
        for (const std::size_t row : titles)
            if (is_lost_title(row, kept, starts, titles)) lost.push_back(row);
        keep_unmarked(lost, marks);
    }

    // Keep lists in doubt right below a heading that is content.
    void keep_lists(const std::uint8_t *marks) {
        const Counts count = kept_leaves();
        std::vector<std::size_t> lost;
        Mask headings;
        Counts unmarked;  // the last leaf up to each one that is no mark
        for (const std::size_t row : lists) {
            if (first(row) == 0 || first(row) == last(row) || below(count, row) == leaves(row)) continue;
            if (unmarked.empty()) {
                headings = leaves_of_headings();
                unmarked.resize(nodes.m, -1);
                for (std::size_t i = 0; i < nodes.m; i++) unmarked[i] = marks[i] ? i ? unmarked[i - 1] : -1 : std::int64_t(i);
            }
            const std::int64_t before = unmarked[first(row) - 1];
            if (before >= 0 && headings[before] && is_kept(before) && told[before] < limits.threshold && is_in_doubt(row))
                lost.push_back(row);
        }
        keep_unmarked(lost, marks);
    }

private:
    void keep_unmarked(const std::vector<std::size_t> &rows, const std::uint8_t *marks) {
        for (const std::size_t row : rows)
            for (std::size_t i = first(row); i < last(row); i++)
                if (!marks[i]) found[i] = 0;
    }
};
