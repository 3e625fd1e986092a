// A copy of what the walk reads of a tree. The walk calls Python, which may let another thread run, and that thread may
// change the tree or free it. The copy is made by one call that holds the GIL and runs no Python code: it is the tree of
// one moment. The fields of these structures are the same in all versions of libxml2 that lxml is built with.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <libxml/tree.h>
#include <memory>
#include <new>
#include <utility>
#include <vector>

class Snapshot {
    static constexpr std::size_t BLOCK = 1 << 16;
    std::vector<std::unique_ptr<char[]>> blocks;
    std::size_t left = 0;
    char *unused = nullptr;
    std::array<std::pair<const xmlChar *, const xmlChar *>, 128> names = {};

    static const char *chars(const xmlChar *text) { return reinterpret_cast<const char *>(text); }
    static bool is(const xmlChar *name, const char *other) { return std::strcmp(chars(name), other) == 0; }

    static bool is_shadow_root(const xmlAttr *attribute) {
        return is(attribute->name, "shadowrootmode") || is(attribute->name, "shadowroot");
    }

    static bool is_read(const xmlAttr *attribute) {
        if (attribute->ns) return false;
        switch (attribute->name[0]) {
        case 'a': return is(attribute->name, "aria-label");
        case 'c': return is(attribute->name, "class");
        case 'h': return is(attribute->name, "href") || is(attribute->name, "hidden");
        case 'i': return is(attribute->name, "id");
        case 'r': return is(attribute->name, "role") || is(attribute->name, "rel");
        case 's': return is(attribute->name, "src") || is(attribute->name, "style") || is_shadow_root(attribute);
        default: return false;
        }
    }

    void *taken(std::size_t size) {
        size = (size + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
        if (size > left) {
            left = std::max(size, BLOCK);
            blocks.emplace_back(new char[left]);
            unused = blocks.back().get();
        }
        left -= size;
        unused += size;
        return unused - size;
    }

    template <typename T> T *zeroed() { return new (taken(sizeof(T))) T{}; }

    xmlChar *copied(const xmlChar *text) {
        if (!text) return nullptr;
        const std::size_t size = std::strlen(chars(text)) + 1;
        return static_cast<xmlChar *>(std::memcpy(taken(size), text, size));
    }

    // Names are few, and most nodes of a name share its text.
    const xmlChar *copied_name(const xmlChar *name) {
        auto &known = names[reinterpret_cast<std::uintptr_t>(name) / 8 % names.size()];
        if (known.first != name) known = {name, copied(name)};
        return known.second;
    }

    xmlNode *added(xmlElementType type, xmlNode *parent) {
        xmlNode *node = zeroed<xmlNode>();
        node->type = type;
        node->parent = parent;
        return node;
    }

    // Copy the parts of an attribute's value.
    xmlNode *copied_value(const xmlNode *part) {
        xmlNode head = {}, *last = &head;
        for (; part; part = part->next) {
            last = last->next = added(part->type, nullptr);
            last->content = copied(part->content);
        }
        return head.next;
    }

    xmlNode *copied(const xmlNode *node, xmlNode *parent) {
        xmlNode *copy = added(node->type, parent);
        if (node->type == XML_ELEMENT_NODE) elements++;
        else if (node->type == XML_TEXT_NODE) texts++;
        if (node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE) copy->content = copied(node->content);
        if (node->type != XML_ELEMENT_NODE) return copy;
        copy->name = copied_name(node->name);
        if (node->ns && node->ns->href) {
            copy->ns = zeroed<xmlNs>();
            copy->ns->href = copied(node->ns->href);
        }
        xmlAttr **next = &copy->properties;
        for (const xmlAttr *attribute = node->properties; attribute; attribute = attribute->next) {
            if (!is_read(attribute)) continue;
            *next = zeroed<xmlAttr>();
            (*next)->name = copied_name(attribute->name);
            (*next)->children = copied_value(attribute->children);
            next = &(*next)->next;
        }
        return copy;
    }

    // Only elements have children of their own; what stands in scripts and styles is never read.
    static bool is_entered(const xmlNode *node) {
        if (node->type != XML_ELEMENT_NODE || !node->children) return false;
        return (node->ns && node->ns->href) || !(is(node->name, "script") || is(node->name, "style"));
    }

public:
    std::size_t elements = 0, texts = 0;  // numbers of nodes
    xmlNode *root;

    // Copy an element and all below it, without recursion.
    explicit Snapshot(const xmlNode *element) : root(copied(element, nullptr)) {
        const xmlNode *node = element;
        xmlNode *copy = root;
        for (;;) {
            if (is_entered(node)) {
                node = node->children;
                copy = copy->children = copied(node, copy);
                continue;
            }
            while (node != element && !node->next) {
                node = node->parent;
                copy = copy->parent;
            }
            if (node == element) return;
            node = node->next;
            copy = copy->next = copied(node, copy->parent);
        }
    }
};
