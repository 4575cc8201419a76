// Where work runs, and the ledger of what ran there.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <variant>
#include <vector>

#include "trireme/device/slowness.hpp"

namespace trireme {

struct ReferenceStream {};  // plain loops: the oracle
struct CpuStream {
    int threads = 1;
};
struct GhostStream {};  // shapes and costs, no arithmetic; never follows an address

// What one kernel call costs at least, whoever runs it.
struct Cost {
    std::string_view kernel;  // a literal: "linear"
    double flops = 0;         // multiplications and additions of its matrix products
    double bytes = 0;         // read and written once
    std::array<std::size_t, 3>
        product{};  // rows, columns and depth of its matrix product; zeros if it has none
};

// Calls, seconds and costs by kernel and shape, in order of first use.
class Ledger {
public:
    struct Entry {
        Cost unit;  // the kernel's name and product; flops and bytes summed over the calls
        std::size_t calls = 0;
        double seconds = 0;
    };
    void add(const Cost& cost, double seconds);
    void clear() { entries_.clear(); }
    const std::vector<Entry>& entries() const { return entries_; }
    double seconds() const;  // in all
    double flops() const;    // in all

private:
    std::vector<Entry> entries_;
};

struct Stream {
    std::variant<ReferenceStream, CpuStream, GhostStream> backend;
    Ledger ledger = {};
    Slowness slowness = {};

    bool is_ghost() const { return std::holds_alternative<GhostStream>(backend); }
};

}  // namespace trireme
