// The columns of a node table.
#pragma once
#include <cstddef>
#include <cstdint>

// As `scrapy_pagelets.page.nodes.NodeTable`: n rows, m leaves.
struct Nodes {
    std::size_t n, m, links, looks;
    const std::int64_t *parent, *end, *depth, *tag, *look, *path, *signature, *shape, *first_leaf, *last_leaf;  // (n,)
    const std::uint8_t *anchor, *hidden;                                                                        // (n,)
    const std::int64_t *leaves, *text, *words, *gap, *number;                                                   // (m,)
    const std::int64_t *link_row, *link_key;                                                                    // (links,)
    const std::int64_t *signs, *class_signature;                                                                // (looks,)

    bool linked(std::size_t leaf) const { return anchor[leaves[leaf]]; }
    bool is_prose(std::size_t leaf, std::int64_t least) const { return words[leaf] >= least && !linked(leaf); }
};
