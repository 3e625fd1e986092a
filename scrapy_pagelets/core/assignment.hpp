// Assignments of largest weight in bipartite graphs.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

struct Edge {
    std::int64_t group, left, right;
    double weight;
    std::size_t at;  // index of the edge as it was given
    std::size_t row = 0, column = 0;  // ranks of its ends among those of the group
};

// The row that each column of a matrix is assigned to, or `rows`: the sum of their costs is the least. There are no
// more rows than columns. Shortest augmenting paths keep the potentials of rows and columns below all costs (the
// Hungarian method), in O(rows^2 columns).
inline std::vector<std::size_t> least_assignment(
    const std::vector<double> &cost, std::size_t rows, std::size_t columns
) {
    std::vector<double> of_row(rows + 1), of_column(columns + 1);
    std::vector<std::size_t> row_of(columns + 1, rows), previous(columns + 1);  // the last column begins each path
    for (std::size_t row = 0; row < rows; row++) {
        std::vector<double> distance(columns + 1, std::numeric_limits<double>::infinity());
        std::vector<bool> reached(columns + 1);
        std::size_t column = columns;
        for (row_of[columns] = row; row_of[column] != rows;) {
            const std::size_t from = column, its_row = row_of[from];
            reached[from] = true;
            double nearest = std::numeric_limits<double>::infinity();
            for (std::size_t to = 0; to < columns; to++) {
                if (reached[to]) continue;
                const double length = cost[its_row * columns + to] - of_row[its_row] - of_column[to];
                if (length < distance[to]) distance[to] = length, previous[to] = from;
                if (distance[to] < nearest) nearest = distance[to], column = to;
            }
            for (std::size_t to = 0; to <= columns; to++)
                if (reached[to]) of_row[row_of[to]] += nearest, of_column[to] -= nearest;
                else distance[to] -= nearest;
        }
        for (; column != columns; column = previous[column]) row_of[column] = row_of[previous[column]];
    }
    row_of.pop_back();
    return row_of;
}

inline std::size_t rank(std::vector<std::int64_t> &nodes, std::int64_t node) {
    return std::size_t(std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin());
}

// Number the ends of the edges of a group; return the number of nodes on both sides.
inline std::pair<std::size_t, std::size_t> number(Edge *first, Edge *last) {
    std::vector<std::int64_t> left, right;
    for (Edge *edge = first; edge != last; edge++) left.push_back(edge->left), right.push_back(edge->right);
    for (auto *nodes : {&left, &right}) {
        std::sort(nodes->begin(), nodes->end());
        nodes->erase(std::unique(nodes->begin(), nodes->end()), nodes->end());
    }
    for (Edge *edge = first; edge != last; edge++)
        edge->row = rank(left, edge->left), edge->column = rank(right, edge->right);
    return {left.size(), right.size()};
}

// Mark the edges of an assignment of largest weight of one group, see `assign`.
inline void assign_group(Edge *first, Edge *last, double order, std::uint8_t *chosen) {
    auto [rows, columns] = number(first, last);
    const bool equal = std::all_of(first, last, [=](const Edge &edge) { return edge.weight == first->weight; });
    if (equal && std::size_t(last - first) == rows * columns) {  // the k-th with the k-th, however many there are
        for (Edge *edge = first; edge != last; edge++) chosen[edge->at] = edge->row == edge->column;
        return;
    }
    const bool turned = rows > columns;
    const double step = order / double(rows * columns);
    if (turned) std::swap(rows, columns);
    std::vector<double> cost(rows * columns);
    for (Edge *edge = first; edge != last; edge++) {
        if (turned) std::swap(edge->row, edge->column);
        const double apart = std::abs(double(edge->row) - double(edge->column));
        cost[edge->row * columns + edge->column] = step * apart - edge->weight;
    }
    const std::vector<std::size_t> row_of = least_assignment(cost, rows, columns);
    for (Edge *edge = first; edge != last; edge++) chosen[edge->at] = row_of[edge->column] == edge->row;
}

// Mark the edges of an assignment of largest weight in each group.
inline void assign(std::vector<Edge> &edges, double order, std::uint8_t *chosen) {
    std::sort(edges.begin(), edges.end(), [](const Edge &a, const Edge &b) {
        return std::tie(a.group, a.left, a.right) < std::tie(b.group, b.left, b.right);
    });
    for (std::size_t first = 0, last = 0; first < edges.size(); first = last) {
        while (last < edges.size() && edges[last].group == edges[first].group) last++;
        assign_group(&edges[first], &edges[first] + (last - first), order, chosen);
    }
}
