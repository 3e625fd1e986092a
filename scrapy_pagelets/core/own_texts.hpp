// What a page alone says amid its content, as `scrapy_pagelets.decision.own_texts`.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "columns.hpp"

using Flags = std::vector<std::uint8_t>;
using Integers = std::vector<std::int64_t>;

// The numbers, signs and tags of `scrapy_pagelets.decision.own_texts`.
struct OfOwnTexts {
    double threshold, most_of_value, most_behind, often, nearly_all, most_of_list, mostly, linked, most_of_table;
    std::int64_t sentence, paragraphs, note, amid, behind, label, value, near, far;
    std::int64_t code, definition, table, heading, no_note;
    Flags is_paragraph, is_value, is_list, is_inline, is_no_data, is_cell;
};

// Leaves from the first to the one before the last.
struct Span {
    std::int64_t first, last;
};

class OwnTexts {
    const Nodes &nodes;
    const OfOwnTexts &of;
    const double *told;         // (m,) templateness
    const std::int64_t *alike;  // (m,) number of other pages
    double others;
    Integers words;  // (m + 1,) of the first leaves
    // (m,) whether a leaf is content, is on no other page, is on few of them, and is a sentence or in a caption
    Flags keep, alone, rare, is_said;

    // How far it is from each leaf back to content, and on to content.
    struct Distances {
        Integers before, behind;
    };
    Distances at;

    std::int64_t count() const { return std::int64_t(nodes.m); }
    Span below(std::int64_t row) const { return {nodes.first_leaf[row], nodes.last_leaf[row]}; }
    std::int64_t words_of(Span leaves) const { return words[leaves.last] - words[leaves.first]; }
    bool is_amid(std::int64_t i) const { return at.before[i] <= of.amid && at.behind[i] <= of.amid; }
    bool is_around(std::int64_t i) const {
        return is_amid(i) || (at.before[i] <= of.behind && told[i] <= of.most_behind);
    }
    bool is_own(std::int64_t i) const { return alone[i] && is_around(i); }
    template <typename Function> bool any(Span leaves, Function chosen) const {
        for (std::int64_t i = leaves.first; i < leaves.last; i++)
            if (chosen(i)) return true;
        return false;
    }
    template <typename Function> std::int64_t words_if(Span leaves, Function chosen) const {
        std::int64_t sum = 0;
        for (std::int64_t i = leaves.first; i < leaves.last; i++) sum += chosen(i) ? nodes.words[i] : 0;
        return sum;
    }
    template <typename Function> Integers sums(Function value) const {
        Integers found(nodes.m + 1);
        for (std::size_t i = 0; i < nodes.m; i++) found[i + 1] = found[i] + value(std::int64_t(i));
        return found;
    }
    static void mark(Flags &flags, Span leaves) {
        std::fill(flags.begin() + leaves.first, flags.begin() + leaves.last, 1);
    }
    void add(Span leaves) { mark(found, leaves); }
    template <typename Function> void add_if(Span leaves, Function chosen) {
        for (std::int64_t i = leaves.first; i < leaves.last; i++) found[i] |= chosen(i);
    }

    // By the ascending places of the leaves.
    Distances distances(const Integers &place) const {
        Distances told_by{Integers(nodes.m), Integers(nodes.m)};
        std::int64_t last = -of.far, next = place[nodes.m - 1] + of.far;
        for (std::int64_t i = 0; i < count(); i++) {
            if (keep[i]) last = place[i];
            told_by.before[i] = place[i] - last;
        }
        for (std::int64_t i = count(); i-- > 0;) {
            if (keep[i]) next = place[i];
            told_by.behind[i] = next - place[i];
        }
        return told_by;
    }

    // The rows with a tag that are not inside of another one.
    Integers outermost(std::int64_t tag) const {
        Integers rows;
        std::int64_t end = 0;
        for (std::int64_t row = 0; row < std::int64_t(nodes.n); row++) {
            if (nodes.tag[row] != tag || row < end) continue;
            rows.push_back(row);
            end = nodes.end[row];
        }
        return rows;
    }

    // Add a list or a box of which no less than half of the words are on few pages.
    void add_half(Span leaves) {
        const std::int64_t own = words_if(leaves, [&](std::int64_t i) { return rare[i]; });
        if (2 * own >= words_of(leaves)) add(leaves);
    }

public:
    Flags found;  // (m,) what is content; leaves that are content anyway may be among it

    // `own_end`: the leaf behind the own heading; 0 without one.
    OwnTexts(const Nodes &nodes, const OfOwnTexts &of, const double *told, const std::int64_t *alike, double others,
             std::int64_t own_end)
        : nodes(nodes), of(of), told(told), alike(alike), others(others), keep(nodes.m), alone(nodes.m), rare(nodes.m),
          is_said(nodes.m), found(nodes.m) {
        words = sums([&](std::int64_t i) { return nodes.words[i]; });
        for (std::int64_t i = 0; i < count(); i++) {
            keep[i] = i < own_end ? i == own_end - 1 : told[i] < of.threshold;
            alone[i] = alike[i] == 0;
            rare[i] = double(alike[i]) < of.often * others;
            is_said[i] = nodes.words[i] >= of.sentence;
        }
        Integers places(nodes.m);
        std::iota(places.begin(), places.end(), 0);
        at = distances(places);
    }

    bool is_content(std::int64_t leaf) const { return keep[leaf]; }

    // Add the sentences and the captions of the page alone; whether leaves of the page alone are template yet.
    bool add_sentences(const Integers &captions) {
        for (const std::int64_t row : captions) mark(is_said, below(row));
        bool any_lost = false;
        for (std::int64_t i = 0; i < count(); i++) {
            found[i] = is_own(i) && is_said[i] && !nodes.linked(i);
            any_lost |= alone[i] && !keep[i] && !found[i];
        }
        return any_lost;
    }

    // The words of some paragraphs, and those of them that are content.
    struct Said {
        std::int64_t words = 0, kept = 0;
    };

    // Add the paragraphs among those of content: half of the words of all in one element, or of one shape, are content.
    void add_paragraphs() {
        const Integers linked = sums([&](std::int64_t i) { return nodes.linked(i) ? nodes.words[i] : 0; });
        const Integers kept = sums([&](std::int64_t i) { return keep[i] ? nodes.words[i] : 0; });
        std::vector<double> seen(nodes.m + 1);
        for (std::size_t i = 0; i < nodes.m; i++) seen[i + 1] = seen[i] + double(nodes.words[i]) * told[i];
        const auto in = [&](const auto &sum, std::int64_t row) { return sum[nodes.last_leaf[row]] - sum[nodes.first_leaf[row]]; };
        Integers rows;
        for (std::int64_t row = 0; row < std::int64_t(nodes.n); row++)
            if (of.is_paragraph[nodes.tag[row]] && in(words, row) >= of.sentence && 2 * in(linked, row) <= in(words, row))
                rows.push_back(row);
        for (const auto *group : {nodes.parent, nodes.shape}) {
            std::unordered_map<std::int64_t, Said> of_group;
            for (const std::int64_t row : rows) {
                of_group[group[row]].words += in(words, row);
                of_group[group[row]].kept += in(kept, row);
            }
            std::int64_t end = 0;
            for (const std::int64_t row : rows) {
                const Said said = of_group[group[row]];
                const bool is_sure = in(seen, row) >= of.most_behind * double(in(words, row));
                if (said.words < of.paragraphs || 2 * said.kept < said.words || is_sure) continue;
                if (nodes.last_leaf[row] <= end) continue;  // it is inside of one that was added
                end = nodes.last_leaf[row];
                add_if(below(row), [&](std::int64_t i) { return alone[i]; });
            }
        }
    }

    // The numbers of the links that have such a leaf.
    Integers links_lost() const {
        return links_with([&](std::int64_t i) { return alone[i] && !keep[i] && !found[i]; });
    }
    Integers links_near() const {
        const auto is_near = [&](std::int64_t i) { return is_amid(i) || at.before[i] <= of.behind; };
        return links_with([&](std::int64_t i) { return alone[i] && !keep[i] && is_near(i); });
    }
    template <typename Function> Integers links_with(Function chosen) const {
        const Integers some = sums(chosen);
        Integers numbers;
        for (std::size_t link = 0; link < nodes.links; link++) {
            const Span leaves = below(nodes.link_row[link]);
            if (some[leaves.last] > some[leaves.first]) numbers.push_back(std::int64_t(link));
        }
        return numbers;
    }

    // Add the own leaves of stretches amid content: those that say something, and all where most words are own ones.
    // Only leaves that other pages have count as a distance from content.
    void add_stretches(const Integers &contacts) {
        Flags own(nodes.m), in_stretch(nodes.m);
        for (const std::int64_t link : contacts) mark(own, below(nodes.link_row[link]));
        Integers places = sums([&](std::int64_t i) { return !alone[i]; });
        places.erase(places.begin());
        const Distances far = distances(places);
        for (std::int64_t i = 0; i < count(); i++) {
            own[i] = alone[i] && (own[i] || !nodes.linked(i));
            in_stretch[i] = std::max(far.before[i], far.behind[i]) <= of.amid;
            found[i] |= in_stretch[i] && own[i] && is_said[i];
            in_stretch[i] &= !keep[i];
        }
        for (std::int64_t first = 0, last; first < count(); first = last + 1) {
            for (last = first; last < count() && in_stretch[last]; last++) {}
            const Span run{first, last};
            const double said = double(words_if(run, [&](std::int64_t i) { return own[i]; }));
            if (said >= std::max(double(of.sentence), of.mostly * double(words_of(run))))
                add_if(run, [&](std::int64_t i) { return own[i]; });
        }
    }

    // Add a link that has leaves amid content and leads elsewhere, or near content and leads to a file.
    void add_link(std::int64_t link, bool is_elsewhere, bool is_file) {
        const Span leaves = below(nodes.link_row[link]);
        const auto lost = [&](std::int64_t i) { return alone[i] && !keep[i]; };
        if ((is_elsewhere && any(leaves, [&](std::int64_t i) { return lost(i) && is_amid(i); })) ||
            (is_file && any(leaves, [&](std::int64_t i) { return lost(i) && at.before[i] <= of.behind; })))
            add(leaves);
    }

    // Add the blocks of code that have content or own leaves, or look like one with content and are alone.
    void add_code() {
        const Integers blocks = outermost(of.code);
        std::unordered_set<std::int64_t> looks;
        for (const std::int64_t row : blocks)
            if (any(below(row), [&](std::int64_t i) { return keep[i]; })) looks.insert(nodes.look[row]);
        for (const std::int64_t row : blocks)
            if (any(below(row), [&](std::int64_t i) { return keep[i] || is_own(i); }) ||
                (looks.count(nodes.look[row]) && any(below(row), [&](std::int64_t i) { return alone[i]; })))
                add(below(row));
    }

    // Add each value near content whose label, of a few words, most pages have there: a term, or the first part of two.
    // Below a heading, links alone are a menu.
    void add_values() {
        const auto is_near = [&](std::int64_t i) { return at.before[i] <= of.near && told[i] < of.most_of_value; };
        const Integers near = sums(is_near);
        const Integers own = sums([&](std::int64_t i) { return rare[i]; });
        std::int64_t before = -1, label = -1;
        for (std::int64_t row = 0; row < std::int64_t(nodes.n); row++) {
            if (!of.is_value[nodes.tag[row]] || nodes.first_leaf[row] == 0) continue;
            const Span leaves = below(row), around = below(nodes.parent[row]);
            const bool is_definition = nodes.tag[row] == of.definition;
            const bool goes_on = is_definition && before >= 0 && nodes.tag[before] == of.definition &&
                nodes.parent[before] == nodes.parent[row] && nodes.last_leaf[before] == leaves.first;
            if (!goes_on) label = leaves.first - 1;  // a term may have several
            before = row;
            const bool is_second = around.first == leaves.first - 1 && around.last == leaves.last;
            if (!(is_second || is_definition) || leaves.first == leaves.last || words_of(leaves) > of.value) continue;
            if (nodes.words[label] < 1 || nodes.words[label] > of.label || rare[label] || nodes.linked(label)) continue;
            if (near[leaves.last] == near[leaves.first] || own[leaves.last] == own[leaves.first]) continue;
            const bool is_heading = nodes.signs[nodes.look[nodes.leaves[label]]] & of.heading;
            if (is_heading && words_if(leaves, [&](std::int64_t i) { return !nodes.linked(i); }) == 0) continue;
            // A link that many pages have there is a control.
            add_if(leaves, [&](std::int64_t i) { return rare[i] || !nodes.linked(i); });
        }
    }

    // Add the notes of some links to places of the page: the numbers of the links, and of the look of the place.
    void add_notes(const Integers &links, const Integers &looks) {
        const Integers with_words = sums([&](std::int64_t i) { return nodes.words[i] > 0; });
        const Integers near = distances({with_words.begin() + 1, with_words.end()}).before;
        Integers first(nodes.looks, -1);
        for (std::int64_t row = std::int64_t(nodes.n); row-- > 0;) first[nodes.look[row]] = row;
        for (std::size_t k = 0; k < links.size(); k++) {
            const std::int64_t mark = nodes.first_leaf[nodes.link_row[links[k]]];
            std::int64_t row = first[looks[k]];
            if (row < 0 || mark == count() || near[mark] > 1 || nodes.words[mark] > of.label) continue;
            while (row > 0 && of.is_inline[nodes.tag[row]]) row = nodes.parent[row];  // the number of the note alone
            const Span leaves = below(row);
            if (mark >= leaves.first || words_of(leaves) > of.note || !is_note(row)) continue;
            add_if(leaves, [&](std::int64_t i) {
                return rare[i] || (!nodes.linked(i) && nodes.words[i] > 0) || nodes.text[i] == nodes.text[mark];
            });
        }
    }

    // Whether a row has no heading, menu, footer, table or field.
    bool is_note(std::int64_t row) const {
        for (std::int64_t at = row; at < nodes.end[row]; at++)
            if (of.is_no_data[nodes.tag[at]] || nodes.signs[nodes.look[at]] & of.no_note) return false;
        return true;
    }

    // The few leaves between the heading and content, such as the place of a job; none with tables or fields.
    Span facts_below(std::int64_t heading) const {
        const std::int64_t first = nodes.last_leaf[heading];
        std::int64_t last = first;
        while (last < count() && !keep[last]) last++;
        if (last == count() || last - first > of.amid) return {first, first};
        for (std::int64_t row = nodes.end[heading]; row < nodes.leaves[last]; row++)
            if (of.is_no_data[nodes.tag[row]]) return {first, first};
        return {first, last};
    }
    void add_facts(Span facts) {
        add_if(facts, [&](std::int64_t i) { return alone[i] && !nodes.linked(i); });
    }

    // Add boxes of facts, and the lists without links right behind content, in one element with it; half is enough.
    void add_boxes(const Integers &boxes) {
        for (const std::int64_t row : boxes) add_half(below(row));
        for (std::int64_t leaf = 1; leaf < count(); leaf++) {
            if (keep[leaf] || !keep[leaf - 1]) continue;
            std::int64_t row = nodes.parent[nodes.leaves[leaf]];
            while (row > 0 && nodes.first_leaf[nodes.parent[row]] == leaf) row = nodes.parent[row];
            const Span leaves = below(row);
            if (!of.is_list[nodes.tag[row]] || leaves.first != leaf) continue;
            if (any(leaves, [&](std::int64_t i) { return nodes.linked(i); })) continue;
            const double sum = std::accumulate(told + leaves.first, told + leaves.last, 0.0);
            if (sum <= of.most_of_list * double(leaves.last - leaves.first)) add_half(leaves);
        }
    }

    // Add what stands between content, no more words than a sentence, without links and what nearly all pages have, there
    // or elsewhere on the page.
    void add_between() {
        Flags kept(nodes.m);
        Integers controls;
        for (std::int64_t i = 0; i < count(); i++) {
            kept[i] = keep[i] || found[i];
            if (!kept[i] && double(alike[i]) >= of.nearly_all * others) controls.push_back(nodes.text[i]);
        }
        std::sort(controls.begin(), controls.end());
        for (std::int64_t first = 1, last; first < count(); first = last + 1) {
            for (last = first; last < count() && !kept[last]; last++) {}
            if (last == first || last == count() || !kept[first - 1] || words_of({first, last}) > of.sentence) continue;
            const auto is_control = [&](std::int64_t i) {
                return nodes.linked(i) || std::binary_search(controls.begin(), controls.end(), nodes.text[i]);
            };
            if (!any({first, last}, is_control)) add({first, last});
        }
    }
};

// Which tables behind a leaf are tables of data: two cells or more in their rows, hardly a link, nothing to fill in.
class DataTables {
    const Nodes &nodes;
    const OfOwnTexts &of;
    Integers cells, lines, others;  // (n + 1,) number of cells, of first cells, and of what no data has, before a row

    bool has_rows(std::int64_t row) const {
        const auto inside = [&](const Integers &counts) { return counts[nodes.end[row]] - counts[row + 1]; };
        return inside(lines) > 1 && inside(cells) >= 2 * inside(lines) - 1 && inside(others) == 0;
    }

public:
    DataTables(const Nodes &nodes, const OfOwnTexts &of)
        : nodes(nodes), of(of), cells(nodes.n + 1), lines(nodes.n + 1), others(nodes.n + 1) {
        Flags begun(nodes.n);
        for (std::size_t row = 0; row < nodes.n; row++) {
            const bool is_cell = of.is_cell[nodes.tag[row]] && nodes.first_leaf[row] < nodes.last_leaf[row] && row;
            cells[row + 1] = cells[row] + is_cell;
            lines[row + 1] = lines[row] + (is_cell && !begun[nodes.parent[row]]);
            others[row + 1] = others[row] + of.is_no_data[nodes.tag[row]];
            if (is_cell) begun[nodes.parent[row]] = 1;
        }
    }

    // Mark the leaves of those that other pages have not, and that are not surely template.
    void mark(std::int64_t behind, const double *told, const std::int64_t *alike, double pages, std::uint8_t *out) const {
        for (std::size_t row = 0; row < nodes.n; row++) {
            const std::int64_t first = nodes.first_leaf[row], last = nodes.last_leaf[row];
            if (nodes.tag[row] != of.table || first < behind || !has_rows(std::int64_t(row))) continue;
            double words = 0, repeated = 0, linked = 0, rated = 0;
            for (std::int64_t i = first; i < last; i++) {
                const double weight = double(nodes.words[i]);
                words += weight;
                repeated += double(alike[i]) > of.often * pages ? weight : 0;
                linked += nodes.linked(i) ? weight : 0;
                rated += weight * told[i];
            }
            const bool is_own = repeated < of.often * words && linked <= of.linked * words;
            if (is_own && rated <= of.most_of_table * words) std::fill(out + first, out + last, 1);
        }
    }
};
