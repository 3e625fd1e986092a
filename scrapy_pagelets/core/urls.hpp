// The addresses of links, as far as they are plain. Whatever is odd (a user name, an escape of ASCII, a backslash, a
// character of no use in a URL, an empty segment ...) is left to `scrapy_pagelets.page.urls`.
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

using Text = std::string_view;

inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; }
inline char upper(char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; }
inline bool is_plain(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '~' || c == '-' || c == '.'; }
// The first is in the class `_PLAIN_QUERY`; the second, in a path, is the same with and without normalisation.
inline bool is_plain_in_query(char c) { return (is_plain(c) && c != '~') || c == '=' || c == '&'; }
inline bool is_plain_in_path(char c) { return is_plain(c) || (c && Text(":,@!()*$+=&").find(c) != Text::npos); }
inline bool is_hexadecimal(char c) { return is_digit(c) || (upper(c) >= 'A' && upper(c) <= 'F'); }

inline bool begins_with(Text text, Text lower_case) {
    if (text.size() < lower_case.size()) return false;
    return std::equal(lower_case.begin(), lower_case.end(), text.begin(), [](char a, char b) { return a == lower(b); });
}

inline bool equals(Text text, Text lower_case) {
    return text.size() == lower_case.size() && begins_with(text, lower_case);
}

// Cut a text at the first of some characters; return what is before it.
inline Text take_until(Text &rest, Text ends) {
    const std::size_t at = std::min(rest.find_first_of(ends), rest.size());
    const Text taken = rest.substr(0, at);
    rest.remove_prefix(at);
    return taken;
}

// The parts of a link behind scheme and host.
struct Parts {
    Text path, query, fragment;
    bool has_query = false, has_fragment = false;

    explicit Parts(Text link) {
        path = take_until(link, "?#");
        if (!link.empty() && link[0] == '?') {
            has_query = true;
            link.remove_prefix(1);
            query = take_until(link, "#");
        }
        if (!link.empty()) {
            has_fragment = true;
            fragment = link.substr(1);
        }
    }
};

// Normalise host and port; false if they are odd.
inline bool add_host(Text host, std::string &out) {
    Text port;
    const std::size_t colon = host.find(':');
    if (colon != Text::npos) {
        port = host.substr(colon + 1);
        host = host.substr(0, colon);
        if (port.empty() || port.size() > 5 || port[0] == '0' || !std::all_of(port.begin(), port.end(), is_digit))
            return false;
        if (port.size() == 5 && port > "65535") return false;
    }
    if (host.empty() || host.back() == '.') return false;
    for (const char c : host) {
        if (!is_plain(c) || c == '~') return false;
        out += lower(c);
    }
    if (colon != Text::npos && port != "80" && port != "443") out.append(":").append(port);
    return true;
}

// Add a segment, with escapes in upper case; false if it is odd.
inline bool add_segment(Text segment, bool verbatim, std::string &out) {
    if (segment[0] == '.') return false;
    for (std::size_t i = 0; i < segment.size(); i++) {
        if (is_plain_in_path(segment[i])) {
            out += segment[i];
        } else if (segment[i] == '%' && verbatim) {
            out += '%';
        } else if (segment[i] == '%') {  // only escapes beyond ASCII are the same whatever they stand for
            if (i + 2 >= segment.size() || !is_hexadecimal(segment[i + 1]) || !is_hexadecimal(segment[i + 2])) return false;
            if (segment[i + 1] < '8') return false;
            out.append("%") += upper(segment[i + 1]);
            out += upper(segment[i + 2]);
            i += 2;
        } else {
            return false;
        }
    }
    return true;
}

// Add a relative path to an address that ends with a slash (RFC 3986, Section 5.2.4); false if it is odd.
inline bool add_path(Text path, std::size_t root, bool verbatim, std::string &out) {
    for (;;) {
        const std::size_t end = std::min(path.find('/'), path.size());
        const bool last = end == path.size();
        const Text segment = path.substr(0, end);
        if (segment.empty()) return last;
        if (segment == "..") {
            if (out.size() > root + 1) out.erase(out.rfind('/', out.size() - 2) + 1);
        } else if (segment != ".") {
            if (!add_segment(segment, verbatim, out)) return false;
            if (!last) out += '/';
        }
        if (last) return true;
        path.remove_prefix(end + 1);
    }
}

inline void drop_index(std::string &out) {
    const std::size_t slash = out.rfind('/');
    const Text name = Text(out).substr(slash + 1);
    const std::size_t dot = std::min(name.find('.'), name.size());
    if (!equals(name.substr(0, dot), "index") && !equals(name.substr(0, dot), "default")) return;
    for (const Text ending : {".htm", ".html", ".xhtm", ".xhtml", ".php", ".asp", ".aspx"})
        if (equals(name.substr(dot), ending)) {
            out.erase(slash + 1);
            return;
        }
}

// Add a query with its parameters sorted; false if it is odd.
inline bool add_query(Text query, const std::vector<std::string> &tracking, std::string &out) {
    if (!std::all_of(query.begin(), query.end(), is_plain_in_query)) return false;
    std::vector<std::tuple<Text, bool, Text>> pairs;  // name, whether there is a value, value
    while (!query.empty()) {
        const Text pair = take_until(query, "&");
        if (!query.empty()) query.remove_prefix(1);
        const std::size_t equal = pair.find('=');
        const bool valued = equal != Text::npos;
        const Text name = pair.substr(0, equal);
        if (!pair.empty() && std::find(tracking.begin(), tracking.end(), name) == tracking.end())
            pairs.emplace_back(name, valued, valued ? pair.substr(equal + 1) : Text());
    }
    std::sort(pairs.begin(), pairs.end());
    char separator = '?';
    for (const auto &[name, valued, value] : pairs) {
        (out += separator).append(name).append("=").append(value);
        separator = '&';
    }
    return true;
}

// The address that the links of a page are relative to.
struct Base {
    std::string root;    // normalised, without a slash at the end; "" if it is odd
    std::string origin;  // scheme and host as written; "" if it is odd or if its scheme is not in lower case
    std::string path;    // "/" if there is none; "" if it is odd
    bool has_path = false, has_query = false;
    std::size_t size;

    explicit Base(Text url) : size(url.size()) {
        Text rest = url;
        if (begins_with(url, "http://")) rest.remove_prefix(7);
        else if (begins_with(url, "https://")) rest.remove_prefix(8);
        else return;
        const Text host = take_until(rest, "/?#");
        root = "http://";
        if (!add_host(host, root)) {
            root.clear();
            return;
        }
        if (url[0] == 'h' && url.substr(0, 5).find_first_of("TPS") == Text::npos)
            origin = url.substr(0, url.size() - rest.size());
        const Parts parts(rest);
        std::string plain = "/";
        // Nothing in a plain path is changed when a link is joined to it.
        if (parts.path.empty() || (add_path(parts.path.substr(1), 0, false, plain) && plain == parts.path)) path = plain;
        has_path = !parts.path.empty();
        has_query = parts.has_query;
    }

    Text folder() const { return Text(path).substr(0, path.rfind('/') + 1); }
};

enum Answer { ODD, NOWHERE, PLAIN };

// The normalised address of a link, as `urls.resolve`. The link is ASCII, without white space around it.
inline Answer resolve(const Base &base, Text link, const std::vector<std::string> &tracking, std::size_t longest,
                      std::string &out) {
    for (const Text scheme : {"mailto:", "javascript:", "tel:", "data:"})
        if (begins_with(link, scheme)) return NOWHERE;
    if (link.empty() || base.size + link.size() > longest) return ODD;
    out.clear();
    std::size_t host = begins_with(link, "http://") ? 7 : begins_with(link, "https://") ? 8 : 0;
    if (!host && !base.root.empty() && link.substr(0, 2) == "//") host = 2;
    if (host) {
        link.remove_prefix(host);
        out = "http://";
        if (!add_host(take_until(link, "/?#"), out)) return ODD;
    } else {
        if (base.root.empty()) return ODD;
        out = base.root;
    }
    const std::size_t root = out.size();
    const Parts parts(link);
    if (host || (!link.empty() && link[0] == '/')) {
        out += '/';
        if (!parts.path.empty() && !add_path(parts.path.substr(1), root, false, out)) return ODD;
    } else if (parts.path.empty()) {
        if (base.path.empty() || parts.query.empty()) return ODD;
        out += base.path;
    } else {
        if (base.path.empty() || parts.path.substr(0, parts.path.find('/')).find(':') != Text::npos) return ODD;
        out += base.folder();
        if (!add_path(parts.path, root, false, out)) return ODD;
    }
    drop_index(out);
    return add_query(parts.query, tracking, out) ? PLAIN : ODD;
}

// The address of a link as it is spelt, as `urls.absolute`. The link is ASCII, without white space around it.
inline Answer absolute(const Base &base, Text link, std::string &out) {
    const Parts parts(link);
    if (base.origin.empty() || base.path.empty() || !base.has_path || link.substr(0, 2) == "//") return ODD;
    if ((parts.has_query && parts.query.empty()) || (parts.has_fragment && parts.fragment.empty())) return ODD;
    if (!std::all_of(parts.query.begin(), parts.query.end(), is_plain_in_query)) return ODD;
    if (!std::all_of(parts.fragment.begin(), parts.fragment.end(), [](char c) { return c >= ' ' && c < 127; })) return ODD;
    out = base.origin;
    if (parts.path.empty()) {
        if (parts.query.empty() && (parts.fragment.empty() || base.has_query)) return ODD;
        out += base.path;
    } else {
        const bool rooted = parts.path[0] == '/';
        if (!rooted && parts.path.substr(0, parts.path.find('/')).find(':') != Text::npos) return ODD;
        out += rooted ? Text("/") : base.folder();
        if (!add_path(rooted ? parts.path.substr(1) : parts.path, base.origin.size(), true, out)) return ODD;
    }
    if (parts.has_query) out.append("?").append(parts.query);
    if (parts.has_fragment) out.append("#").append(parts.fragment);
    return PLAIN;
}

// Whether a link is absolute and has no character that is written in another way.
inline bool is_written(Text link) {
    const std::size_t host = begins_with(link, "http://") ? 7 : begins_with(link, "https://") ? 8 : link.size();
    return host < link.size() && Text("/?#").find(link[host]) == Text::npos &&
           std::all_of(link.begin(), link.end(), [](char c) { return c >= ' ' && c < 127; });
}

// Whether what is before the query of a link has no ending, or one of the usual ones of pages; false for odd links.
inline bool ends_like_page(Text link) {
    const Text path = take_until(link, "?#");
    const std::size_t slash = path.rfind('/'), dot = path.rfind('.');
    if (dot == Text::npos || (slash != Text::npos && dot < slash)) return !path.empty();
    const Text ending = path.substr(dot);
    return equals(ending, ".html") || equals(ending, ".htm") || equals(ending, ".php");
}

// Whether an address leads to a page of a host, which is normalised and without "www.".
inline Answer leads_to_page(Text target, Text host) {
    if (!begins_with(target, "http://")) return ODD;
    target.remove_prefix(7);
    std::string own;
    if (!add_host(take_until(target, "/?#"), own)) return ODD;
    if (Text(own).substr(begins_with(own, "www.") ? 4 : 0) != host) return NOWHERE;
    if (!std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < 127 && c != '#'; })) return ODD;
    return ends_like_page(take_until(target, "?")) ? PLAIN : ODD;
}
