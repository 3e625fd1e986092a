// The GIL, released while a large page is computed. To get it back takes up to five milliseconds while another thread
// runs, longer than a small page takes altogether; then the other thread waits no longer than for other Python code.
#pragma once
#include <Python.h>
#include <cstddef>

class Unlocked {
    static constexpr std::size_t LARGE = 5000;  // runs of text
    PyThreadState *const state;

public:
    explicit Unlocked(std::size_t leaves) : state(leaves < LARGE ? nullptr : PyEval_SaveThread()) {}
    ~Unlocked() {
        if (state) PyEval_RestoreThread(state);
    }
    Unlocked(const Unlocked &) = delete;
    Unlocked &operator=(const Unlocked &) = delete;
};
