#include "trireme/device/ledger.hpp"

#include <algorithm>

namespace trireme::device {

void Ledger::clear() {
    entries_.clear();
    clock_delay_ = joules_ = 0;
}

void Ledger::add(const Cost& cost, double seconds, double clock_delay, double joules) {
    clock_delay_ += clock_delay;
    joules_ += joules;
    auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
        return e.total_cost.kernel == cost.kernel && e.total_cost.matmul == cost.matmul;
    });
    if (entry == entries_.end()) {
        entry = entries_.insert(entry, Entry{.total_cost = {.kernel = cost.kernel, .matmul = cost.matmul}});
    }
    entry->total_cost.flops += cost.flops;
    entry->total_cost.bytes += cost.bytes;
    entry->calls += 1;
    entry->seconds += seconds;
}

double Ledger::seconds() const {
    double sum = 0;
    for (const Entry& entry : entries_) sum += entry.seconds;
    return sum;
}

double Ledger::flops() const {
    double sum = 0;
    for (const Entry& entry : entries_) sum += entry.total_cost.flops;
    return sum;
}

MatmulWork& MatmulWork::operator+=(const MatmulWork& other) {
    seconds += other.seconds;
    clock_delay += other.clock_delay;
    flops += other.flops;
    full_flops += other.full_flops;
    expected_seconds += other.expected_seconds;
    calls += other.calls;
    return *this;
}

MatmulWork MatmulWork::operator-(const MatmulWork& other) const {
    return {.seconds = seconds - other.seconds,
            .clock_delay = clock_delay - other.clock_delay,
            .flops = flops - other.flops,
            .full_flops = full_flops - other.full_flops,
            .expected_seconds = expected_seconds - other.expected_seconds,
            .calls = calls - other.calls};
}

MatmulWork MatmulWork::operator/(double count) const {
    return {.seconds = seconds / count,
            .clock_delay = clock_delay / count,
            .flops = flops / count,
            .full_flops = full_flops / count,
            .expected_seconds = expected_seconds / count,
            .calls = calls / count};
}

}  // namespace trireme::device
