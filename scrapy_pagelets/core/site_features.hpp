// The features of the leaves of a page from the other pages of its site, see `scrapy_pagelets.decision.page_features`.
#pragma once
#include "page_features.hpp"

enum : std::size_t { CLASSIFIERS = 2 };

// As `scrapy_pagelets.evidence.evidence.SiteEvidence`; (n, CLASSIFIERS) log odds of the page itself are added to it.
struct Evidence {
    double pages, of_class;
    const double *text, *placed, *variants, *values, *class_text;               // (m,)
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
    static void add_around(const std::string &name, const Doubles &odds, Columns &out) {
        const std::size_t m = odds.size();
        const Sums sums(odds);
        const Doubles window = near(sums, m);
        Doubles rank(m);
        std::size_t next = 0;
        for (const std::uint32_t leaf : ascending(odds)) rank[leaf] = double(next++) / double(m);
        out.add(name + "rank", [&](std::size_t i) { return rank[i]; });
        out.add(name + "prev", [&](std::size_t i) { return i ? odds[i - 1] : 0; });
        out.add(name + "next", [&](std::size_t i) { return i + 1 < m ? odds[i + 1] : 0; });
        out.add(name + "near", [&](std::size_t i) {
            if (window.empty()) return sums.all() / double(m);
            return window[i] / double(std::min(m, i + REACH + 1) - (i < REACH ? 0 : i - REACH));
        });
    }

    // As `_container`; the exponentials are those of the negative odds.
    static void add_container(const std::string &name, const Nodes &nodes, const Sums &words, const double *exps,
                              Columns &out) {
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
        out.add(name + "inside", inside);
        out.add(name + "above",
                [&](std::size_t i) { return inside(i) ? 0 : nodes.depth[best] - nodes.depth[branch_of(i)] + 1; });
        out.add(name + "branch", [&](std::size_t i) { return inside(i) ? 1 : quality(branch_of(i)); });
        out.add_equal(name + "margin", gain.below(nodes, best) / std::max(1.0, gains));
        out.add_equal(name + "share", words.below(nodes, best) / std::max(1.0, words.below(nodes, 0)));
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

    // Write the columns of `SITE`.
    void write(const Nodes &nodes, Columns &out) {
        const std::size_t m = nodes.m;
        const Evidence &site = *evidence;
        const std::string classifiers[CLASSIFIERS] = {"site_trees", "site_classifier"};
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

        out.add_equal("site_pages", logs[0]);
        out.add_equal("site_class_pages", logs[1]);
        out.add("site_text", of_leaf(site.text));
        out.add("site_placed", of_leaf(site.placed));
        out.add("site_path", of_row(site.path));
        out.add("site_variants", of_leaf(site.variants));
        out.add("site_values", of_leaf(site.values));
        out.add("site_prev_values", [&](std::size_t i) { return i ? site.values[i - 1] : 0; });
        out.add("site_next_values", [&](std::size_t i) { return i + 1 < m ? site.values[i + 1] : 0; });
        out.add("site_target", of_row(target.data()));
        out.add("site_prev_text", [&](std::size_t i) { return site.text[i ? i - 1 : m - 1]; });
        out.add("site_next_text", [&](std::size_t i) { return site.text[i + 1 < m ? i + 1 : 0]; });
        out.add_equal("site_page_text", texts.all() / std::max(1.0, words.all()));
        out.add("site_class_text", of_leaf(site.class_text));
        out.add("site_class_path", of_row(site.class_path));
        const std::pair<const char *, const double *> all_odds[] = {
            {"_odds", site.odds}, {"_odds_path", site.path_odds}, {"_odds_shape", site.shape_odds}};
        for (std::size_t one = 0; one < CLASSIFIERS; one++)
            for (const auto &[name, by] : all_odds)
                out.add(classifiers[one] + name,
                        [&, by = by](std::size_t i) { return by[nodes.leaves[i] * CLASSIFIERS + one]; });
        for (std::size_t by = 0; by < odds.size(); by++) {
            const std::string name = classifiers[by / 2] + (by % 2 ? "_pooled_" : "_page_");
            add_around(name, odds[by], out);
            add_container(name, nodes, words, exps.data() + by * m, out);
        }
        std::size_t level = 0;
        for (const Integers &rows : regions(nodes, LEVELS)) {
            const auto add = [&](const std::string &name, const auto &value) {
                out.add(numbered(name + "_", level), [&](std::size_t i) { return value(std::size_t(rows[i])); });
            };
            const auto add_values = [&](const std::string &name, const double *values) {
                add("site_" + name, [&](std::size_t row) { return values[row]; });
            };
            const auto share = [&](const Sums &sums) {
                return [&](std::size_t row) { return sums.below(nodes, row) / std::max(1.0, words.below(nodes, row)); };
            };
            for (std::size_t one = 0; one < CLASSIFIERS; one++)
                for (const auto &[name, by] : all_odds)
                    add(classifiers[one] + name,
                        [&, by = by](std::size_t row) { return by[row * CLASSIFIERS + one]; });
            add("site_text", share(texts));
            add_values("path", site.path);
            add_values("exact", site.exact);
            add_values("links", site.links);
            add_values("linked", site.linked);
            add("site_target", [&](std::size_t row) {
                const std::size_t end = nodes.end[row];
                return targets.between(row, end) / std::max(1.0, link_counts.between(row, end));
            });
            add("site_class_text", share(class_texts));
            add_values("class_path", site.class_path);
            add_values("fresh", site.fresh);
            add_values("mass", &logs[2]);
            add("site_mass_share", [&](std::size_t row) { return site.mass[row] / std::max(1.0, site.mass[0]); });
            level++;
        }
    }
};
