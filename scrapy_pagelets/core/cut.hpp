// The features of the cuts of a page, see `scrapy_pagelets.decision.cut`.
#pragma once
#include "page_features.hpp"

class CutFeatures {
    static constexpr double NONE = 5;  // distance in log odds to the next leaf beyond the cut, if there is none
    static constexpr double WORDS[] = {0.02, 0.1, 0.25, 0.5, 0.75, 0.9}, MASS[] = {0.25, 0.5, 0.75, 0.9};

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

    // Write the columns of `CUT_FEATURES`.
    void write(const Nodes &nodes, const double *at, const double *content_at, float *matrix) const {
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

        Columns out(matrix, cuts.size());
        const auto kept = [&](std::size_t k) { return std::max(0.1, cuts[k].words); };
        out.add([&](std::size_t k) { return at[k]; });
        out.add([&](std::size_t k) { return at[k] - best_odds; });
        out.add([&](std::size_t k) { return kept(k) / total; });
        out.add([&](std::size_t k) { return logs[4 + 3 * k]; });
        out.add([&](std::size_t k) { return cuts[k].mass / kept(k); });
        out.add([&](std::size_t k) { return cuts[k].mass / found; });
        out.add([&](std::size_t k) { return 2 * cuts[k].mass / (kept(k) + found); });
        out.add([&](std::size_t k) { return cuts[k].linked / kept(k); });
        out.add([&](std::size_t k) { return cuts[k].prose / kept(k); });
        out.add([&](std::size_t k) { return cuts[k].prose / std::max(0.1, prose_words); });
        out.add([&](std::size_t k) { return double(cuts[k].kept) / double(m); });
        out.add([&](std::size_t k) { return cuts[k].runs; });
        out.add([&](std::size_t k) { return logs[5 + 3 * k] - logs[6 + 3 * k]; });
        out.add([&](std::size_t k) { return double(cuts[k].last - cuts[k].first) / double(m); });
        out.add([&](std::size_t k) { return cuts[k].longest / kept(k); });
        out.add([&](std::size_t k) { return cuts[k].kept < m ? cuts[k].least - at[k] : NONE; });
        out.add([&](std::size_t k) { return cuts[k].kept ? at[k] - cuts[k].most : NONE; });
        out.add([&](std::size_t k) { return cuts[k].near / std::max(1.0, found); });
        out.add([&](std::size_t k) { return cuts[k].above / kept(k); });
        out.add([&](std::size_t k) { return cuts[k].below / kept(k); });
        out.add([&](std::size_t k) { return content_at[k] / std::max(1e-6, mean); });
        out.add_equal(logs[0], logs[1], found / total, mean, logs[2], linked / total, prose_words / total, sure / total,
                      unsure / total, unsure / std::max(1.0, found), best_odds, expected);
        for (const double share : WORDS) out.add_equal(odds[order[place(seen, share * seen.back())]]);
        for (const double share : MASS) out.add_equal(odds[order[place(gathered, share * gathered.back())]]);
        out.add_equal(double(hidden) / double(m), odds[order[0]], logs[3]);
    }
};
