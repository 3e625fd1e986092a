// The features of the context of the leaves of a page, see `scrapy_pagelets.decision.page_features`.
#pragma once
#include "page_features.hpp"

constexpr double MOST = 8, NO_HEADING = -20;
constexpr std::size_t OF_CONTEXT = 4;  // levels of regions

class ContextFeatures {
    struct Run {
        std::size_t first, last;
        double *from_start, *from_end, found;
    };
    struct Records {
        std::vector<std::size_t> kinds;
        Doubles words, mass;
        double *counts;
    };
    static constexpr std::pair<const char *, double> BARS[] = {{"0.25", 0.25}, {"0.5", 0.5}, {"0.75", 0.75}};
    static constexpr std::pair<const char *, double> QUANTILES[] = {
        {"0.1", 0.1}, {"0.25", 0.25}, {"0.5", 0.5}, {"0.75", 0.75}};
    static constexpr std::size_t REACHES[] = {2, 6, 20};

    Doubles odds, words, content, mass, logs;
    double total, found;  // sums of words and of mass
    std::vector<std::uint32_t> order;
    std::vector<Integers> rows;
    std::vector<Run> runs;
    Integers is_heading, starts, section_of;       // (m,)
    Doubles of_section;                            // words of text
    std::vector<Records> records;
    double *of_page, *below, *in_section, *after_title;
    std::size_t title;

    Run run(const Sums &before, double bar, Parts &parts) const {
        const std::size_t m = words.size();
        double gain = 0, least = 0, most = -1;
        std::size_t first = 0, last = 0, lowest = 0;
        for (std::size_t i = 0; i <= m; i++) {
            if (i) gain += mass[i - 1] - bar * words[i - 1];
            if (gain < least) {
                least = gain;
                lowest = i;
            }
            if (gain - least > most) {
                most = gain - least;
                last = i;
                first = lowest;
            }
        }
        Run run{first, last, parts.part(m), parts.part(m), 0};
        for (std::size_t i = 0; i < m; i++) {
            run.from_start[i] = std::abs(before.to(i) - before.to(first));
            run.from_end[i] = std::abs(before.to(last) - before.to(i + 1));
        }
        for (std::size_t i = first; i < last; i++) run.found += mass[i];
        return run;
    }

    // Regions of one shape.
    Records records_of(const Nodes &nodes, const Integers &region, Parts &parts) const {
        const std::size_t m = words.size();
        Records found{std::vector<std::size_t>(m), Doubles(m), Doubles(m), parts.part(m)};
        Numbers numbers(m);
        std::vector<bool> known(nodes.n);
        for (std::size_t i = 0; i < m; i++) {
            const std::size_t kind = found.kinds[i] = numbers[nodes.shape[region[i]]];
            found.words[kind] += words[i];
            found.mass[kind] += mass[i];
            found.counts[kind] += !known[region[i]];
            known[region[i]] = true;
        }
        return found;
    }

    void add_page(const Nodes &nodes, Columns &out) const {
        const std::size_t m = words.size();
        Doubles seen(m);
        double words_seen = 0, mass_seen = 0, best = 0, certain = 0;
        for (std::size_t k = 0; k < m; k++) {
            seen[k] = words_seen += words[order[k]];
            mass_seen += mass[order[k]];
            best = std::max(best, 2 * mass_seen / (words_seen + found));
        }
        for (std::size_t i = 0; i < m; i++) certain += mass[i] * content[i];
        const auto unsure = [&](std::size_t i) { return content[i] > 0.2 && content[i] < 0.8; };
        out.add_equal("context_mean", certain / found);
        out.add_equal("context_share", found / total);
        out.add_equal("context_mass", of_page[0]);
        out.add_equal("context_sure", sum_if(words, [&](std::size_t i) { return content[i] > 0.9; }) / total);
        out.add_equal("context_unsure", sum_if(words, unsure) / total);
        out.add_equal("context_best", best);
        out.add_equal("context_prose", sum_if(mass, [&](std::size_t i) { return nodes.is_prose(i, PROSE); }) / found);
        for (const auto &[name, share] : QUANTILES)
            out.add_equal(std::string("context_quantile_") + name, odds[order[place(seen, share * total)]]);
    }

    void add_curve(Columns &out) const {
        const std::size_t m = words.size();
        Doubles above(m), precision(m), kept(m), expected(m);
        double words_seen = 0, mass_seen = 0, most = 0;
        std::size_t best = 0;
        for (const std::uint32_t i : order) {
            words_seen += words[i];
            mass_seen += mass[i];
            above[i] = (mass_seen - mass[i]) / found;
            precision[i] = mass_seen / words_seen;
            kept[i] = words_seen / total;
            expected[i] = 2 * mass_seen / (words_seen + found);
            if (expected[i] > most) {
                most = expected[i];
                best = i;
            }
        }
        const std::pair<const char *, const Doubles *> columns[] = {
            {"context_odds", &odds}, {"context_above", &above}, {"context_precision", &precision},
            {"context_kept", &kept}};
        for (const auto &[name, values] : columns)
            out.add(name, [values = values](std::size_t i) { return (*values)[i]; });
        out.add("context_expected", [&](std::size_t i) { return expected[i] / most; });
        out.add("context_from_best", [&](std::size_t i) { return odds[i] - odds[best]; });
    }

    void add_run(const std::string &name, const Run &run, const Sums &before, Columns &out) const {
        const double words_in = before.to(run.last) - before.to(run.first);
        out.add(name + "in", [&](std::size_t i) { return i >= run.first && i < run.last; });
        out.add(name + "from_start",
                [&](std::size_t i) { return i >= run.first ? run.from_start[i] : -run.from_start[i]; });
        out.add(name + "from_end", [&](std::size_t i) { return i < run.last ? run.from_end[i] : -run.from_end[i]; });
        out.add_equal(name + "share", words_in / before.all());
        out.add_equal(name + "purity", run.found / std::max(1e-9, words_in));
        out.add_equal(name + "mass", run.found / found);
    }

    void add_near(const Sums &weights, Columns &out) const {
        const std::size_t m = words.size();
        const Sums sums(m, [&](std::size_t i) { return words[i] * odds[i]; });
        const auto mean = [&](std::size_t low, std::size_t high) {
            return sums.between(low, high) / std::max(0.1, weights.between(low, high));
        };
        for (const std::size_t reach : REACHES) {
            out.add(numbered("before_", reach), [&](std::size_t i) { return mean(i < reach ? 0 : i - reach, i); });
            out.add(numbered("after_", reach), [&](std::size_t i) { return mean(i + 1, std::min(m, i + 1 + reach)); });
        }
    }

    void add_siblings(const Nodes &nodes, const Sums &weights, Columns &out) const {
        struct Row {
            double before = 0, after = 0, words_before = 0, words_after = 0, mean = 0;
            std::size_t last_child = 0;
        };
        const Sums sums(words.size(), [&](std::size_t i) { return words[i] * odds[i]; });
        std::vector<Row> table(nodes.n);
        for (std::size_t row = 0; row < nodes.n; row++) {
            const double weight = weights.below(nodes, row);
            table[row].mean = sums.below(nodes, row) / std::max(1e-9, weight);
            if (!row || !(weight > 0)) continue;
            std::size_t &sibling = table[nodes.parent[row]].last_child;
            if (sibling) {
                table[row].before = table[sibling].mean;
                table[row].words_before = below[sibling];
                table[sibling].after = table[row].mean;
                table[sibling].words_after = below[row];
            }
            sibling = row;
        }
        const std::pair<const char *, double Row::*> values[] = {
            {"sibling_before_", &Row::before}, {"sibling_after_", &Row::after},
            {"sibling_words_before_", &Row::words_before}, {"sibling_words_after_", &Row::words_after},
            {"sibling_mean_", &Row::mean}};
        for (std::size_t level = 0; level < OF_CONTEXT; level++)
            for (const auto &[name, value] : values)
                out.add(numbered(name, level),
                        [&, value = value](std::size_t i) { return table[rows[level][i]].*value; });
    }

    void add_sections(const Nodes &nodes, const Integers &levels, Columns &out) const {
        const std::size_t count = of_section.size();
        Doubles wide(count), mean(count), linked(count), of_heading(count), level(count);
        for (std::size_t i = 0; i < words.size(); i++) {
            const std::size_t section = section_of[i];
            if (starts[i]) level[section] = double(levels[i]);
            if (is_heading[i]) {
                wide[section] += words[i];
                of_heading[section] += words[i] * odds[i];
            } else {
                mean[section] += words[i] * odds[i];
                linked[section] += nodes.linked(i) ? words[i] : 0;
            }
        }
        for (std::size_t section = 0; section < count; section++) {
            const double some = std::max(0.1, of_section[section]);
            mean[section] /= some;
            linked[section] /= some;
            of_heading[section] /= std::max(0.1, wide[section]);
        }
        const auto of = [&](const double *values) { return [=](std::size_t i) { return values[section_of[i]]; }; };
        out.add("section_mean", of(mean.data()));
        out.add("section_words", of(in_section));
        out.add("section_links", of(linked.data()));
        out.add("section_heading", of(of_heading.data()));
        out.add("section_level", of(level.data()));
        out.add("section_number",
                [&](std::size_t i) { return double(section_of[i]) / double(std::max<std::size_t>(1, count - 1)); });
        out.add("section_before", [&](std::size_t i) { return section_of[i] ? mean[section_of[i] - 1] : 0; });
        out.add("section_after",
                [&](std::size_t i) { return std::size_t(section_of[i]) + 1 < count ? mean[section_of[i] + 1] : 0; });
    }

public:
    // Clip the log odds; NumPy takes the exponentials of the result before `measure`.
    Doubles &clip(const double *values, std::size_t m) {
        odds = column(m, [&](std::size_t i) { return std::min(std::max(values[i], -MOST), MOST); });
        return content = odds;
    }

    // Measure everything; NumPy takes the logarithms before `write`.
    Doubles &measure(const Nodes &nodes, const Integers &heading_leaves, const Integers &levels) {
        const std::size_t m = nodes.m;
        is_heading = heading_leaves;
        for (double &value : content) value = 1 / (1 + value);
        words = column(m, [&](std::size_t i) { return double(nodes.words[i]) + 0.1; });
        mass = column(m, [&](std::size_t i) { return words[i] * content[i]; });
        const Sums before(words);
        total = before.all();
        found = Sums(mass).all();
        order = ascending(odds);
        rows = regions(nodes, OF_CONTEXT);
        starts.resize(m);
        std::int64_t section = 0;
        for (std::size_t i = 0; i < m; i++) {
            starts[i] = is_heading[i] && !(i && is_heading[i - 1]);
            section_of.push_back(section += starts[i]);
        }
        of_section.resize(section + 1);
        for (std::size_t i = 0; i < m; i++) of_section[section_of[i]] += is_heading[i] ? 0 : words[i];
        title = 0;
        while (title < m && levels[title] != 1) title++;

        logs.resize(1 + nodes.n + 10 * m + of_section.size());
        Parts parts(logs);
        of_page = parts.part(1);
        below = parts.part(nodes.n);
        in_section = parts.part(of_section.size());
        after_title = parts.part(m);
        for (const auto &bar : BARS) runs.push_back(run(before, bar.second, parts));
        for (std::size_t level = 1; level < OF_CONTEXT; level++)
            records.push_back(records_of(nodes, rows[level], parts));
        of_page[0] = found;
        for (std::size_t row = 0; row < nodes.n; row++) below[row] = before.below(nodes, row);
        std::copy(of_section.begin(), of_section.end(), in_section);
        // Of the words before a leaf: its own ones are added and subtracted, which rounds.
        const auto until = [&](std::size_t i) { return before.to(i + 1) - words[i]; };
        for (std::size_t i = 0; i < m && title < m; i++) after_title[i] = std::abs(until(i) - until(title));
        return logs;
    }

    // Write the columns of `CONTEXT`.
    void write(const Nodes &nodes, const Integers &levels, Columns &out) const {
        const Sums weights(words), masses(mass);
        add_page(nodes, out);
        add_curve(out);
        for (std::size_t k = 0; k < runs.size(); k++)
            add_run(std::string("run_") + BARS[k].first + "_", runs[k], weights, out);
        add_near(weights, out);
        add_siblings(nodes, weights, out);
        for (std::size_t level = 0; level < OF_CONTEXT; level++)
            out.add(numbered("region_mass_", level),
                    [&](std::size_t i) { return masses.below(nodes, rows[level][i]) / found; });
        add_sections(nodes, levels, out);
        out.add("after_h1", [&](std::size_t i) {
            if (title == nodes.m) return NO_HEADING;
            return i < title ? -after_title[i] : i > title ? after_title[i] : 0;
        });
        std::size_t level = 1;
        for (const Records &one : records) {
            out.add(numbered("record_count_", level), [&](std::size_t i) { return one.counts[one.kinds[i]]; });
            out.add(numbered("record_content_", level),
                    [&](std::size_t i) { return one.mass[one.kinds[i]] / one.words[one.kinds[i]]; });
            out.add(numbered("record_mass_", level++), [&](std::size_t i) { return one.mass[one.kinds[i]] / found; });
        }
    }
};
