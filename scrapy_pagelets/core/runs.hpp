// Runs of ASCII text, folded: their white space, and for their keys also case and digits.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

// As `str.isspace` says of an ASCII character.
constexpr bool is_white(unsigned char c) { return c == 32 || (c >= 9 && c <= 13) || (c >= 28 && c <= 31); }

struct Character {
    bool white, control, odd_white;
    char folded;
};

constexpr std::array<Character, 128> ascii_characters() {
    std::array<Character, 128> table{};
    for (unsigned c = 0; c < 128; c++) {
        const bool white = is_white(static_cast<unsigned char>(c));
        const unsigned folded = c >= 'A' && c <= 'Z' ? c + 32 : c >= '1' && c <= '9' ? '0' : c;
        table[c] = {white, (c < 32 && !white) || c == 127, white && c < 32 && c != 9 && c != 10, static_cast<char>(folded)};
    }
    return table;
}

inline constexpr auto ASCII = ascii_characters();

struct Run {
    std::string text, key;  // without and with case and digits folded
    std::int64_t words = 0;
    bool has_controls = false;   // other than white space
    bool has_odd_white = false;  // control characters that are white space, other than tab and line feed
    std::size_t begin = 0, end = 0;  // of what is not white at its ends, in the original

    // Fold a run; false if it has other characters than those of ASCII.
    bool fold(const std::uint8_t *original, std::size_t length) {
        text.resize(length);
        key.resize(length);
        has_controls = has_odd_white = false;
        begin = end = 0;
        std::size_t size = 0;
        std::int64_t spaces = 0;
        bool gap = false;
        for (std::size_t i = 0; i < length; i++) {
            const std::uint8_t c = original[i];
            if (c >= 128) return false;
            const Character &character = ASCII[c];
            if (character.white) {
                gap = true;
                has_odd_white |= character.odd_white;
                continue;
            }
            if (!size) {
                begin = i;
            } else if (gap) {
                text[size] = key[size] = ' ';
                size++;
                spaces++;
            }
            gap = false;
            has_controls |= character.control;
            text[size] = static_cast<char>(c);
            key[size++] = character.folded;
            end = i + 1;
        }
        text.resize(size);
        key.resize(size);
        words = size > 3 ? spaces + 1 : short_words();
        return true;
    }

    // Words of three characters at most: runs of letters and digits.
    std::int64_t short_words() const {
        std::int64_t runs = 0;
        bool inside = false;
        for (const char c : key) {
            const bool part = (c >= 'a' && c <= 'z') || c == '0' || c == '_';
            runs += part && !inside;
            inside = part;
        }
        return runs;
    }
};

inline void fold_digits(std::string &key) {
    for (char &c : key)
        if (c >= '1' && c <= '9') c = '0';
}

// Whether an inline style may hide an element: a quick test for what most styles are.
inline bool may_hide(const std::string &style) {
    for (std::size_t i = 0; i < style.size(); i++) {
        const unsigned char c = static_cast<unsigned char>(style[i]);
        if (c >= 128) return true;  // some characters beyond ASCII match others, whatever the case
        if ((c | 32) == 'n' && i + 3 < style.size() && (style[i + 1] | 32) == 'o' && (style[i + 3] | 32) == 'e') return true;
        if ((c | 32) == 'h' && i + 5 < style.size() && (style[i + 1] | 32) == 'i' && (style[i + 5] | 32) == 'n') return true;
    }
    return false;
}
