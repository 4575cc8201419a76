#include "gpu/timing.hpp"

#include <algorithm>
#include <vector>

#include "trireme/base/numbers.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/gpu_times.hpp"

namespace trireme::perf {
namespace {

// Runs the given number of calls and returns their total seconds.
using TimedCalls = std::function<double(std::size_t calls)>;

// Warms up, and returns the number of calls per round: enough calls for `round_seconds`.
std::size_t warm_up(const Rounds& rounds, const TimedCalls& run_timed) {
    std::size_t calls = 1;
    double last = run_timed(calls);  // includes the cost of a first call
    for (double passed = last; passed < rounds.warm_up_seconds || last < rounds.round_seconds; passed += last) {
        if (last < rounds.round_seconds) calls *= 2;
        last = run_timed(calls);
    }
    return calls;
}

Timing measure_timing(const Rounds& rounds, const TimedCalls& run_timed) {
    const std::size_t calls = warm_up(rounds, run_timed);
    std::vector<double> seconds;
    for (std::size_t round = 0; round < rounds.count; ++round)
        seconds.push_back(run_timed(calls) / static_cast<double>(calls));
    const auto [least, most] = std::ranges::minmax_element(seconds);
    return {.median = compute_median(seconds), .least = *least, .most = *most, .calls = calls};
}

// Drops the times of earlier calls, so that their CUDA events can be reused.
void clear_ledger(device::Stream& stream) {
    stream.synchronize();
    stream.ledger.clear();
}

}  // namespace

device::GpuQueue& queue_of(device::Stream& stream) { return stream.gpu_times->queue(); }

Timing time_on_gpu(device::Stream& stream, const Rounds& rounds, const GpuCall& work) {
    device::GpuEvent begin, end;
    std::size_t number = 0;
    return measure_timing(rounds, [&](std::size_t calls) {
        clear_ledger(stream);
        queue_of(stream).mark(begin);
        for (std::size_t call = 0; call < calls; ++call) work(number++);
        queue_of(stream).mark(end);
        queue_of(stream).wait_until_over(end);
        return end.seconds_since(begin);
    });
}

Timing time_round_trips(device::Stream& stream, const Rounds& rounds, const GpuCall& work) {
    std::size_t number = 0;
    return measure_timing(rounds, [&](std::size_t calls) {
        clear_ledger(stream);
        const double begin = device::now_seconds();
        for (std::size_t call = 0; call < calls; ++call) {
            work(number++);
            queue_of(stream).wait();
        }
        return device::now_seconds() - begin;
    });
}

}  // namespace trireme::perf
