// The features of the cuts of a page, see `scrapy_pagelets.decision.cut`.
#pragma once
#include "page_features.hpp"

class CutFeatures {
    static constexpr double NONE = 5;  // distance in log odds to the next leaf beyond the cut, if there is none
    static constexpr std::pair<const char *, double> WORDS[] = {{"page_words_0.02", 0.02}, {"page_words_0.1", 0.1},
        {"page_words_0.25", 0.25}, {"page_words_0.5", 0.5}, {"page_words_0.75", 0.75}, {"page_words_0.9", 0.9}};
    static constexpr std::pair<const char *, double> MASS[] = {{"page_mass_0.25", 0.25}, {"page_mass_0.5", 0.5},
        {"page_mass_0.75", 0.75}, {"page_mass_0.9", 0.9}};

    struct Cut {
        double words = 0, mass = 0, linked = 0, prose = 0, near = 0, above = 0, below = 0;  // sums of words, but mass
        double least = INFINITY, most = -INFINITY;  // log odds of the leaves that are not kept, and of those kept
        std::size_t kept = 0, runs = 0, first = 0, last = 0;
        double longest = 0;
    };
    Doubles odds, content, words, mass, logs;
    std::vector<Cut> cuts;
    double total, found, prose_words;

    Cut cut(const Nodes &nodes, double at) const {
        Cut cut;
        double begun = 0;
        bool inside = false;
        for (std::size_t i = 0; i < nodes.m; i++) {
            const double value = odds[i], weight = words[i];
            const bool kept = value < at;
            if (kept) {
                if (!inside) begun = cut.words;
                if (!cut.kept) cut.first = i;
                cut.runs += !inside;
                cut.words += weight;
                cut.mass += mass[i];
                cut.kept++;
                cut.last = i + 1;
                cut.longest = std::max(cut.longest, cut.words - begun);
                if (nodes.linked(i)) cut.linked += weight;
                if (nodes.is_prose(i, PROSE)) cut.prose += weight;
                if (value > at - 1) cut.below += weight;
                cut.most = std::max(cut.most, value);
            } else {
                if (value < at + 1) cut.above += weight;
                cut.least = std::min(cut.least, value);
            }
            if (std::abs(value - at) < 0.5) cut.near += weight;
            inside = kept;
        }
        return cut;
    }

public:
    // Read the log odds; NumPy takes their exponentials before `measure`.
    Doubles &read(const double *values, std::size_t m) {
        odds.assign(values, values + m);
        return content = odds;
    }

    // Measure all cuts; NumPy takes the logarithms before `write`.
    Doubles &measure(const Nodes &nodes, const double *at, std::size_t count, double others) {
        for (double &value : content) value = 1 / (1 + value);
        words = column(nodes.m, [&](std::size_t i) { return double(nodes.words[i]) + 0.1; });
        mass = column(nodes.m, [&](std::size_t i) { return words[i] * content[i]; });
        total = Sums(words).all();
        found = Sums(mass).all();
        prose_words = sum_if(words, [&](std::size_t i) { return nodes.is_prose(i, PROSE); });
        logs = {total, double(nodes.m), found, others};
        for (std::size_t k = 0; k < count; k++) {
            cuts.push_back(cut(nodes, at[k]));
            logs.insert(logs.end(), {std::max(0.1, cuts[k].words), double(cuts[k].runs), double(cuts[k].kept)});
        }
        return logs;
    }

    // Write the columns of `CUT`.
    void write(const Nodes &nodes, const double *at, const double *content_at, Columns &out) const {
        const std::size_t m = nodes.m;
        const std::vector<std::uint32_t> order = ascending(odds);
        Doubles seen(m), gathered(m);
        double words_seen = 0, mass_seen = 0, expected = 0, certain = 0;
        std::size_t best = 0, hidden = 0;
        for (std::size_t k = 0; k < m; k++) {
            seen[k] = words_seen += words[order[k]];
            gathered[k] = mass_seen += mass[order[k]];
            certain += mass[k] * content[k];
            hidden += nodes.hidden[nodes.leaves[k]];
            const double measure = 2 * mass_seen / (words_seen + found);
            if (measure > expected) {
                expected = measure;
                best = k;
            }
        }
        const double best_odds = odds[order[best]], mean = certain / found;
        const double sure = sum_if(words, [&](std::size_t i) { return content[i] > 0.9; });
        const double unsure = sum_if(words, [&](std::size_t i) { return content[i] > 0.2 && content[i] < 0.8; });
        const double linked = sum_if(words, [&](std::size_t i) { return nodes.linked(i); });

        const auto kept = [&](std::size_t k) { return std::max(0.1, cuts[k].words); };
        out.add("cut_cut", [&](std::size_t k) { return at[k]; });
        out.add("cut_from_best", [&](std::size_t k) { return at[k] - best_odds; });
        out.add("cut_kept", [&](std::size_t k) { return kept(k) / total; });
        out.add("cut_kept_words", [&](std::size_t k) { return logs[4 + 3 * k]; });
        out.add("cut_precision", [&](std::size_t k) { return cuts[k].mass / kept(k); });
        out.add("cut_recall", [&](std::size_t k) { return cuts[k].mass / found; });
        out.add("cut_f1", [&](std::size_t k) { return 2 * cuts[k].mass / (kept(k) + found); });
        out.add("cut_links", [&](std::size_t k) { return cuts[k].linked / kept(k); });
        out.add("cut_prose", [&](std::size_t k) { return cuts[k].prose / kept(k); });
        out.add("cut_prose_kept", [&](std::size_t k) { return cuts[k].prose / std::max(0.1, prose_words); });
        out.add("cut_leaves", [&](std::size_t k) { return double(cuts[k].kept) / double(m); });
        out.add("cut_runs", [&](std::size_t k) { return cuts[k].runs; });
        out.add("cut_runs_per_leaf", [&](std::size_t k) { return logs[5 + 3 * k] - logs[6 + 3 * k]; });
        out.add("cut_span", [&](std::size_t k) { return double(cuts[k].last - cuts[k].first) / double(m); });
        out.add("cut_longest_run", [&](std::size_t k) { return cuts[k].longest / kept(k); });
        out.add("cut_gap_above", [&](std::size_t k) { return cuts[k].kept < m ? cuts[k].least - at[k] : NONE; });
        out.add("cut_gap_below", [&](std::size_t k) { return cuts[k].kept ? at[k] - cuts[k].most : NONE; });
        out.add("cut_near", [&](std::size_t k) { return cuts[k].near / std::max(1.0, found); });
        out.add("cut_just_above", [&](std::size_t k) { return cuts[k].above / kept(k); });
        out.add("cut_just_below", [&](std::size_t k) { return cuts[k].below / kept(k); });
        out.add("cut_of_mean", [&](std::size_t k) { return content_at[k] / std::max(1e-6, mean); });
        const std::pair<const char *, double> of_page[] = {
            {"page_words", logs[0]}, {"page_leaves", logs[1]}, {"page_share", found / total}, {"page_mean", mean},
            {"page_mass", logs[2]}, {"page_links", linked / total}, {"page_prose", prose_words / total},
            {"page_sure", sure / total}, {"page_unsure", unsure / total},
            {"page_unsure_of_mass", unsure / std::max(1.0, found)}, {"page_best", best_odds},
            {"page_best_f1", expected}};
        for (const auto &[name, value] : of_page) out.add_equal(name, value);
        for (const auto &[name, share] : WORDS) out.add_equal(name, odds[order[place(seen, share * seen.back())]]);
        for (const auto &[name, share] : MASS)
            out.add_equal(name, odds[order[place(gathered, share * gathered.back())]]);
        out.add_equal("page_hidden", double(hidden) / double(m));
        out.add_equal("page_least", odds[order[0]]);
        out.add_equal("page_others", logs[3]);
    }
};
