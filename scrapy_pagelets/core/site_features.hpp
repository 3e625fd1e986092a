// The features of the leaves of a page from the other pages of its site, see `scrapy_pagelets.decision.page_features`.
#pragma once
#include "page_features.hpp"

enum : std::size_t { CLASSIFIERS = 2 };

// As `scrapy_pagelets.evidence.evidence.SiteEvidence`; (n, CLASSIFIERS) log odds of the page itself are added to it.
struct Evidence {
    double pages, of_class;
    const double *text, *placed, *variants, *class_text;                        // (m,)
    const double *path, *exact, *links, *class_path, *linked, *fresh, *mass;    // (n,)
    const double *odds, *path_odds, *shape_odds;                                // (n, CLASSIFIERS)
    const double *target;                                                       // (links,)
    const std::int64_t *link_rows;                                              // (links,)
    std::size_t link_count;
};

class SiteFeatures {
    const Evidence *evidence;
    Doubles logs, exps;
    std::vector<Doubles> odds;  // of the leaves: by classifier, those of the page, and pooled with those of the site

    // As `_around`.
    static void add_around(const Doubles &odds, Columns &out) {
        const std::size_t m = odds.size();
        const Sums sums(odds);
        const Doubles window = near(sums, m);
        Doubles rank(m);
        std::size_t next = 0;
        for (const std::uint32_t leaf : ascending(odds)) rank[leaf] = double(next++) / double(m);
        out.add([&](std::size_t i) { return rank[i]; });
        out.add([&](std::size_t i) { return i ? odds[i - 1] : 0; });
        out.add([&](std::size_t i) { return i + 1 < m ? odds[i + 1] : 0; });
        out.add([&](std::size_t i) {
            if (window.empty()) return sums.all() / double(m);
            return window[i] / double(std::min(m, i + REACH + 1) - (i < REACH ? 0 : i - REACH));
        });
    }

    // As `_container`; the exponentials are those of the negative odds.
    static void add_container(const Nodes &nodes, const Sums &words, const double *exps, Columns &out) {
        const Sums gain(nodes.m, [&](std::size_t i) { return double(nodes.words[i]) * (1 - 2 / (1 + exps[i])); });
        double gains = 0;
        for (std::size_t i = 0; i < nodes.m; i++)
            gains += std::max(double(nodes.words[i]) * (1 - 2 / (1 + exps[i])), 0.0);
        std::size_t best = 0;
        for (std::size_t row = 1; row < nodes.n; row++) {
            const double more = gain.below(nodes, row), most = gain.below(nodes, best);
            if (more > most || (more == most && nodes.depth[row] >= nodes.depth[best])) best = row;
        }
        // The container and its ancestors have no branch; a row below them has that of its parent, or begins one.
        const auto above = [&](std::size_t row) { return row <= best && nodes.end[row] > std::int64_t(best); };
        Integers branch(nodes.n);
        for (std::size_t row = 0; row < nodes.n; row++)
            if (!above(row)) branch[row] = above(nodes.parent[row]) ? std::int64_t(row) : branch[nodes.parent[row]];
        const auto quality = [&](std::size_t row) {
            return gain.below(nodes, row) / std::max(1.0, words.below(nodes, row));
        };
        const auto inside = [&](std::size_t i) {
            return nodes.leaves[i] >= std::int64_t(best) && nodes.leaves[i] < nodes.end[best];
        };
        const auto branch_of = [&](std::size_t i) { return branch[nodes.leaves[i]]; };
        out.add(inside);
        out.add([&](std::size_t i) { return inside(i) ? 0 : nodes.depth[best] - nodes.depth[branch_of(i)] + 1; });
        out.add([&](std::size_t i) { return inside(i) ? 1 : quality(branch_of(i)); });
        out.add_equal(gain.below(nodes, best) / std::max(1.0, gains),
                      words.below(nodes, best) / std::max(1.0, words.below(nodes, 0)));
    }

public:
    // Read the evidence; NumPy takes logarithms and exponentials before `write`.
    void measure(const Nodes &nodes, const Evidence &of_site) {
        evidence = &of_site;
        logs = {evidence->pages, evidence->of_class};
        logs.insert(logs.end(), evidence->mass, evidence->mass + nodes.n);
        for (std::size_t one = 0; one < CLASSIFIERS; one++)
            for (const bool pooled : {false, true})
                odds.push_back(column(nodes.m, [&](std::size_t i) {
                    const std::size_t at = nodes.leaves[i] * CLASSIFIERS + one;
                    const double own = evidence->odds[at], others = evidence->path_odds[at];
                    return pooled && !std::isnan(others) ? (own + others) / 2 : own;
                }));
        for (const Doubles &of_leaves : odds)
            for (const double value : of_leaves) exps.push_back(-value);
    }
    Doubles &log_arguments() { return logs; }
    Doubles &exp_arguments() { return exps; }

    // Write the columns of `SITE_FEATURES`.
    void write(const Nodes &nodes, float *matrix) {
        const std::size_t m = nodes.m;
        const Evidence &site = *evidence;
        const auto of_leaf = [&](const double *values) { return [=](std::size_t i) { return values[i]; }; };
        const auto of_row = [&](const double *values) {
            return [=, &nodes](std::size_t i) { return values[nodes.leaves[i]]; };
        };
        const Sums words(m, [&](std::size_t i) { return double(nodes.words[i]); });
        const Sums texts(m, [&](std::size_t i) { return site.text[i] * double(nodes.words[i]); });
        const Sums class_texts(m, [&](std::size_t i) { return site.class_text[i] * double(nodes.words[i]); });
        Doubles target(nodes.n), links(nodes.n);
        for (std::size_t link = 0; link < site.link_count; link++) {
            target[site.link_rows[link]] = site.target[link];
            links[site.link_rows[link]] = 1;
        }
        const Sums targets(target), link_counts(links);
        for (std::size_t row = 1; row < nodes.n; row++)
            if (!(target[row] > 0)) target[row] = target[nodes.parent[row]];  // from here on, of the row or above it

        Columns out(matrix, m);
        out.add_equal(logs[0], logs[1]);
        out.add(of_leaf(site.text));
        out.add(of_leaf(site.placed));
        out.add(of_row(site.path));
        out.add(of_leaf(site.variants));
        out.add(of_row(target.data()));
        out.add([&](std::size_t i) { return site.text[i ? i - 1 : m - 1]; });
        out.add([&](std::size_t i) { return site.text[i + 1 < m ? i + 1 : 0]; });
        out.add_equal(texts.all() / std::max(1.0, words.all()));
        out.add(of_leaf(site.class_text));
        out.add(of_row(site.class_path));
        const double *all_odds[] = {site.odds, site.path_odds, site.shape_odds};
        for (std::size_t one = 0; one < CLASSIFIERS; one++)
            for (const double *by : all_odds)
                out.add([&](std::size_t i) { return by[nodes.leaves[i] * CLASSIFIERS + one]; });
        for (std::size_t by = 0; by < odds.size(); by++) {
            add_around(odds[by], out);
            add_container(nodes, words, exps.data() + by * m, out);
        }
        for (const Integers &rows : regions(nodes, LEVELS)) {
            const auto of_region = [&](const double *values) {
                return [=, &rows](std::size_t i) { return values[rows[i]]; };
            };
            const auto share = [&](const Sums &sums) {
                return [&](std::size_t i) {
                    return sums.below(nodes, rows[i]) / std::max(1.0, words.below(nodes, rows[i]));
                };
            };
            for (std::size_t one = 0; one < CLASSIFIERS; one++)
                for (const double *by : all_odds)
                    out.add([&](std::size_t i) { return by[rows[i] * CLASSIFIERS + one]; });
            out.add(share(texts));
            for (const double *values : {site.path, site.exact, site.links, site.linked}) out.add(of_region(values));
            out.add([&](std::size_t i) {
                const std::size_t row = rows[i], end = nodes.end[row];
                return targets.between(row, end) / std::max(1.0, link_counts.between(row, end));
            });
            out.add(share(class_texts));
            out.add(of_region(site.class_path));
            out.add(of_region(site.fresh));
            out.add(of_region(&logs[2]));
            out.add([&](std::size_t i) { return site.mass[rows[i]] / std::max(1.0, site.mass[0]); });
        }
    }
};
