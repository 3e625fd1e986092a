// The features of the leaves and nodes of a page, see `scrapy_pagelets.decision.page_features`.
#pragma once
#include <memory>

#include "nodes.hpp"
#include "trees.hpp"

constexpr std::size_t LEVELS = 6;
constexpr std::size_t REACH = 3;                     // leaves before and after a leaf that are near
constexpr std::int64_t PROSE = 10;                   // words of a run of text, without links, that is prose
constexpr double FAR = 9;                            // distance to the last heading if there is none
enum Traits : std::uint8_t { ENDS = 1, UPPER = 2, DIGITS = 4, IN_TITLE = 8 };  // of a run of text
enum Leads : std::uint8_t { INSIDE = 1, WITHIN = 2 };                          // of a link: to the same host, page

struct Look {
    std::int64_t landmarks, own_tokens;  // as bits
    double odds;                    // of its tokens
};

struct Link {
    std::int64_t row, key;
    std::uint8_t leads;
};

// Sums of seven values around each one; of fewer than seven values, none.
inline Doubles near(const Sums &sums, std::size_t m) {
    return column(m > 2 * REACH ? m : 0, [&](std::size_t i) {
        return sums.between(i < REACH ? 0 : i - REACH, std::min(m, i + REACH + 1));
    });
}

// The features of the subtree of each row.
class RegionFeatures {
    Doubles logs;
    double *total, *leaves, *by_leaf;
    Sums words, linked, headings, prose;

public:
    // Measure all rows; NumPy takes the logarithms before `write`.
    Doubles &measure(const Nodes &nodes, const std::int64_t *is_heading) {
        const auto chosen = [&](std::size_t i, bool is) { return is ? double(nodes.words[i]) : 0; };
        words = Sums(nodes.m, [&](std::size_t i) { return chosen(i, true); });
        linked = Sums(nodes.m, [&](std::size_t i) { return chosen(i, nodes.linked(i)); });
        headings = Sums(nodes.m, [&](std::size_t i) { return is_heading[i]; });
        prose = Sums(nodes.m, [&](std::size_t i) { return chosen(i, nodes.is_prose(i, PROSE)); });
        logs.resize(nodes.n * 3);
        Parts parts(logs);
        for (double **part : {&total, &leaves, &by_leaf}) *part = parts.part(nodes.n);
        for (std::size_t row = 0; row < nodes.n; row++) {
            total[row] = words.below(nodes, row);
            leaves[row] = double(nodes.last_leaf[row] - nodes.first_leaf[row]);
            by_leaf[row] = total[row] / std::max(1.0, leaves[row]);
        }
        return logs;
    }

    // Write the columns of `REGION`.
    void write(const Nodes &nodes, Columns &out) {
        const auto share = [&](const Sums &some) {
            return [&](std::size_t row) { return some.below(nodes, row) / std::max(1.0, words.below(nodes, row)); };
        };
        out.add("words", [&](std::size_t row) { return total[row]; });
        out.add("link_density", share(linked));
        out.add("leaves", [&](std::size_t row) { return leaves[row]; });
        out.add("words_per_leaf", [&](std::size_t row) { return by_leaf[row]; });
        out.add("share_of_page",
                [&](std::size_t row) { return words.below(nodes, row) / std::max(1.0, words.all()); });
        out.add("headings", [&](std::size_t row) {
            return headings.below(nodes, row) / std::max(1.0, double(nodes.last_leaf[row] - nodes.first_leaf[row]));
        });
        out.add("prose", share(prose));
        out.add("first", [&](std::size_t row) {
            return double(nodes.first_leaf[row]) / double(std::max<std::size_t>(1, nodes.m));
        });
    }
};

// The columns of `REGION`, (n,) each.
struct Regions {
    const float *matrix;
    const Names *names;
};

// What a leaf inherits from the elements around it.
struct Inherited {
    Integers landmarks, own_tokens, target;   // (m,)
    Doubles sum, least, most, nearest;   // (m,) of the odds of the looks
    std::vector<std::uint8_t> leads;     // (m,)

    void inherit(const Nodes &nodes, const std::vector<Look> &looks, const std::vector<Link> &links,
                 std::int64_t text) {
        struct Row {
            std::int64_t landmarks, own_tokens, target;
            double sum, least, most, nearest;
            std::uint8_t leads;
        };
        std::vector<Row> rows(nodes.n);
        for (const Link &link : links) {
            rows[link.row].target = link.key;
            rows[link.row].leads = link.leads;
        }
        for (std::size_t i = 0; i < nodes.n; i++) {
            Row &row = rows[i];
            const Look &look = looks[nodes.look[i]];
            const double odds = nodes.tag[i] == text ? 0 : look.odds;
            const Row above = i ? rows[nodes.parent[i]] : Row{};
            row.landmarks = look.landmarks | above.landmarks;
            row.own_tokens = look.own_tokens | above.own_tokens;
            row.sum = odds + above.sum;
            row.least = std::min(std::min(odds, 0.0), above.least);
            row.most = std::max(std::max(odds, 0.0), above.most);
            row.nearest = odds != 0 ? odds : above.nearest;
            if (i && row.target == 0) {
                row.target = above.target;
                row.leads = above.leads;
            }
        }
        for (std::size_t i = 0; i < nodes.m; i++) {
            const Row &row = rows[nodes.leaves[i]];
            landmarks.push_back(row.landmarks);
            own_tokens.push_back(row.own_tokens);
            target.push_back(row.target);
            leads.push_back(row.leads);
            sum.push_back(row.sum);
            least.push_back(row.least);
            most.push_back(row.most);
            nearest.push_back(row.nearest);
        }
    }
};

// The number of occurrences of each value in a column.
inline Doubles repeats(const Integers &values) {
    Numbers numbers(values.size());
    std::vector<std::size_t> kinds(values.size()), counts(values.size());
    for (std::size_t i = 0; i < values.size(); i++) counts[kinds[i] = numbers[values[i]]]++;
    return column(values.size(), [&](std::size_t i) { return double(counts[kinds[i]]); });
}

class PageFeatures {
    Doubles logs;
    double *words, *from_end, *same_shape, *same_target, *around, *since_heading, *whole;
    Doubles seen;
    Integers last_heading;
    double total, linked;

public:
    Inherited inherited;
    Regions of_regions;
    std::vector<std::pair<std::string, std::int64_t>> landmarks;  // names of columns, and bits
    Doubles heading_odds;                // (m,) of the heading leaves
    Integers lengths;                    // (m,) characters
    std::vector<std::uint8_t> traits;    // (m,)
    Integers headings;                   // (m,) whether the leaf is inside a heading
    std::int64_t heading, main, article; // bits of landmarks

    // Measure everything but the odds of headings; NumPy takes the logarithms before `write`.
    void measure(const Nodes &nodes) {
        const std::size_t m = nodes.m;
        logs.resize(6 * m + 2);
        Parts parts(logs);
        for (double **part : {&words, &from_end, &same_shape, &same_target, &around, &since_heading})
            *part = parts.part(m);
        whole = parts.part(2);
        const Sums sums(m, [&](std::size_t i) { return double(nodes.words[i]); });
        total = std::max(1.0, sums.all());
        linked = 0;
        Integers shape(m);
        last_heading.resize(m);
        std::int64_t last = -1;
        for (std::size_t i = 0; i < m; i++) {
            headings.push_back((inherited.landmarks[i] & heading) > 0);
            if (headings[i]) last = std::int64_t(i);
            last_heading[i] = last;
            linked += nodes.linked(i) ? double(nodes.words[i]) : 0;
            words[i] = double(nodes.words[i]);
            seen.push_back(sums.to(i + 1));
            from_end[i] = total - seen[i];
            shape[i] = nodes.shape[nodes.leaves[i]];
            since_heading[i] = last < 0 ? 0 : sums.to(i) - sums.to(last);
        }
        const Doubles window = near(sums, m), shapes = repeats(shape), targets = repeats(inherited.target);
        for (std::size_t i = 0; i < m; i++) {
            around[i] = window.empty() ? total : window[i];
            same_shape[i] = shapes[i];
            same_target[i] = inherited.target[i] ? targets[i] : 0;
        }
        whole[0] = total;
        whole[1] = double(m);
    }
    Doubles &arguments() { return logs; }

    // Write the columns of `PAGE`.
    void write(const Nodes &nodes, Columns &out) {
        const std::size_t m = nodes.m;
        const auto has = [&](std::uint8_t trait) {
            return [&, trait](std::size_t i) { return (traits[i] & trait) > 0; };
        };
        const auto leads = [&](std::uint8_t to) {
            return [&, to](std::size_t i) { return (inherited.leads[i] & to) > 0; };
        };
        out.add("words", [&](std::size_t i) { return words[i]; });
        out.add("chars_per_word", [&](std::size_t i) { return double(lengths[i]) / double(std::max<std::int64_t>(1, nodes.words[i])); });
        out.add("ends_sentence", has(ENDS));
        out.add("starts_upper", has(UPPER));
        out.add("digits", has(DIGITS));
        out.add("anchor", [&](std::size_t i) { return nodes.linked(i); });
        out.add("hidden", [&](std::size_t i) { return nodes.hidden[nodes.leaves[i]]; });
        out.add("depth", [&](std::size_t i) { return nodes.depth[nodes.leaves[i]]; });
        out.add("position", [&](std::size_t i) { return double(i) / double(m); });
        out.add("word_position", [&](std::size_t i) { return seen[i] / total; });
        out.add("from_end", [&](std::size_t i) { return from_end[i]; });
        out.add("gap", [&](std::size_t i) { return nodes.gap[i]; });
        out.add("same_shape", [&](std::size_t i) { return same_shape[i]; });
        out.add("in_title", has(IN_TITLE));
        out.add("internal", leads(INSIDE));
        out.add("fragment", leads(WITHIN));
        out.add("same_target", [&](std::size_t i) { return same_target[i]; });
        out.add("prev_words", [&](std::size_t i) { return i ? words[i - 1] : 0; });
        out.add("next_words", [&](std::size_t i) { return i + 1 < m ? words[i + 1] : 0; });
        out.add("near_words", [&](std::size_t i) { return around[i]; });
        out.add("heading", [&](std::size_t i) { return last_heading[i] < 0 ? 0 : heading_odds[last_heading[i]]; });
        out.add("heading_words", [&](std::size_t i) { return last_heading[i] < 0 ? FAR : since_heading[i]; });
        const std::pair<const char *, const Doubles *> of_looks[] = {
            {"lexicon_sum", &inherited.sum}, {"lexicon_min", &inherited.least},
            {"lexicon_max", &inherited.most}, {"lexicon_near", &inherited.nearest}};
        for (const auto &[name, odds] : of_looks) out.add(name, [odds = odds](std::size_t i) { return (*odds)[i]; });
        std::int64_t all = 0;
        for (const std::int64_t around : inherited.landmarks) all |= around;
        for (const auto &[name, bit] : landmarks)
            out.add(name, [&, bit = bit](std::size_t i) { return (inherited.landmarks[i] & bit) > 0; });
        out.add_equal("page_words", whole[0]);
        out.add_equal("page_link_density", linked / total);
        out.add_equal("page_leaves", whole[1]);
        out.add_equal("has_main", (all & main) > 0);
        out.add_equal("has_article", (all & article) > 0);
        out.add_equal("page_depth", double(*std::max_element(nodes.depth, nodes.depth + nodes.n)));
        std::size_t level = 0;
        for (const Integers &rows : regions(nodes, LEVELS)) {
            const float *column = of_regions.matrix;
            for (const std::string &name : *of_regions.names) {
                out.add(numbered(name + "_", level), [&](std::size_t i) { return column[rows[i]]; });
                column += nodes.n;
            }
            level++;
        }
        for (std::size_t bit = 0; out.add(numbered("mark_", bit), [&](std::size_t i) {
                 return inherited.own_tokens[i] >> bit & 1;
             }); bit++) {}
    }
};

// One logistic model for each size class, see `classifier.Classifier`.
struct Logistic {
    std::size_t features;
    const double *weight, *bias, *low, *high;  // (classes, features), (classes,), (features,), (features,)
};

// The products of clipped features and weights.
FOR_ALL_PROCESSORS inline void weigh(const double *values, const Logistic &model, std::size_t size, double *products) {
    const double *weight = model.weight + size * model.features;
    for (std::size_t j = 0; j < model.features; j++)
        products[j] = std::min(std::max(values[j], model.low[j]), model.high[j]) * weight[j];
}

// Write the log odds of each row, (n, 2): the mean of those of its leaves, and by a classifier over `NODE`: the columns
// of `REGION`, and the first ones of `PAGE`.
inline void judge_nodes(const Nodes &nodes, const Regions &of_regions, const float *columns, const double *first_odds,
                        const Logistic &model, double *odds) {
    const std::size_t in_region = of_regions.names->size(), in_leaf = model.features - in_region;
    const auto weight = [&](std::size_t i) { return double(nodes.words[i]) + 0.1; };
    const Sums of_leaves(nodes.m, [&](std::size_t i) { return weight(i) * first_odds[i]; });
    const Sums words(nodes.m, [&](std::size_t i) { return double(nodes.words[i]); }), weights(nodes.m, weight);
    const std::unique_ptr<double[]> before(new double[(nodes.m + 1) * in_leaf]);  // a vector would fill it with zeros
    std::fill_n(before.get(), in_leaf, 0.0);
    for (std::size_t i = 0; i < nodes.m; i++)
        for (std::size_t j = 0; j < in_leaf; j++)
            before[(i + 1) * in_leaf + j] = before[i * in_leaf + j] + columns[j * nodes.m + i] * weight(i);
    // The same leaves have the same features, so a row whose parent has its leaves takes over the result.
    const auto as_above = [&](std::size_t row) { return row && has_all_leaves(nodes, row); };
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < nodes.n; row++)
        if (!as_above(row)) rows.push_back(row);
    constexpr std::size_t AT_ONCE = 4;  // rows: each of their sums waits for the addition before
    Doubles values(model.features), products(AT_ONCE * model.features);
    std::size_t sizes[AT_ONCE] = {};
    for (std::size_t first = 0; first < rows.size(); first += AT_ONCE) {
        const std::size_t count = std::min(AT_ONCE, rows.size() - first);
        for (std::size_t k = 0; k < count; k++) {
            const std::size_t row = rows[first + k];
            const double share = std::max(weights.below(nodes, row), 0.05), total = words.below(nodes, row);
            const double *start = &before[nodes.first_leaf[row] * in_leaf];
            const double *stop = &before[nodes.last_leaf[row] * in_leaf];
            for (std::size_t j = 0; j < in_region; j++) values[j] = of_regions.matrix[j * nodes.n + row];
            for (std::size_t j = 0; j < in_leaf; j++) values[in_region + j] = (stop[j] - start[j]) / share;
            sizes[k] = 0;
            for (const double bound : {1, 4, 16, 64, 256}) sizes[k] += total >= bound;
            weigh(values.data(), model, sizes[k], &products[k * model.features]);
            odds[2 * row] = of_leaves.below(nodes, row) / share;
        }
        double sums[AT_ONCE] = {};
        for (std::size_t j = 0; j < model.features; j++)
            for (std::size_t k = 0; k < AT_ONCE; k++) sums[k] += products[k * model.features + j];
        for (std::size_t k = 0; k < count; k++) odds[2 * rows[first + k] + 1] = sums[k] + model.bias[sizes[k]];
    }
    for (std::size_t row = 0; row < nodes.n; row++)
        if (as_above(row)) std::copy_n(odds + 2 * nodes.parent[row], 2, odds + 2 * row);
}
