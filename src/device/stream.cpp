// Implements streams and ledgers. The clock itself is elsewhere, since a simulation has a different one.

#include "trireme/device/stream.hpp"

#include <algorithm>

#include "trireme/device/gpu_times.hpp"
#include "trireme/device/power.hpp"

namespace trireme::device {

MemorySpace Stream::place() const {
    if (is_ghost()) return MemorySpace::ghost;
    return is_on_gpu() ? MemorySpace::gpu : MemorySpace::host;
}

void Stream::settle() {
    if (gpu_times) gpu_times->settle(ledger, products);
}

void Ledger::add(const Cost& cost, double seconds) {
    auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
        return e.unit.kernel == cost.kernel && e.unit.product == cost.product;
    });
    if (entry == entries_.end()) {
        entry = entries_.insert(entry, Entry{.unit = {.kernel = cost.kernel, .product = cost.product}});
    }
    entry->unit.flops += cost.flops;
    entry->unit.bytes += cost.bytes;
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
    for (const Entry& entry : entries_) sum += entry.unit.flops;
    return sum;
}

ProductWork& ProductWork::operator+=(const ProductWork& other) {
    seconds += other.seconds;
    flops += other.flops;
    whole_flops += other.whole_flops;
    return *this;
}

ProductWork ProductWork::operator-(const ProductWork& other) const {
    return {.seconds = seconds - other.seconds,
            .flops = flops - other.flops,
            .whole_flops = whole_flops - other.whole_flops};
}

ProductWork ProductWork::operator/(double count) const {
    return {.seconds = seconds / count, .flops = flops / count, .whole_flops = whole_flops / count};
}

void set_clock(std::size_t state, Stream& stream) {
    set_clock_state(state);
    stream.clock = clock_states()[state].speed;
}

}  // namespace trireme::device
