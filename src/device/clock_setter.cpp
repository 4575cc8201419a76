#include "trireme/device/clock_setter.hpp"

#include <semaphore.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/gpu_times.hpp"

namespace trireme::device {

// A POSIX semaphore: post() never blocks. CUDA's thread may call it after the setter is destroyed.
struct ClockSetter::Semaphore {
    Semaphore() { sem_init(&count, 0, 0); }
    ~Semaphore() { sem_destroy(&count); }
    Semaphore(const Semaphore&) = delete;
    Semaphore& operator=(const Semaphore&) = delete;

    void post() { sem_post(&count); }
    void wait() {
        while (sem_wait(&count) != 0) {  // a signal may interrupt the wait
        }
    }

    sem_t count{};
};

ClockSetter::ClockSetter(std::shared_ptr<ClockedDevice> device, double min_seconds,
                         std::optional<ClockGate> gate)
    : device_(std::move(device)),
      clocks_(device_->list_clocks()),
      min_seconds_(min_seconds),
      gate_(gate),
      requested_mhz_(clocks_.empty() ? 0 : static_cast<int>(std::lround(clocks_.front().mhz))),
      reached_(std::make_shared<Semaphore>()),
      last_change_(now_seconds()) {}

// The worker ends after the job that it executes. A job that waits for the GPU is woken by the semaphore.
ClockSetter::~ClockSetter() {
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    ending_changed_.notify_all();
    reached_->post();
}

const ClockState& ClockSetter::find_state(int mhz) const {
    const auto state =
        std::ranges::find_if(clocks_, [&](const ClockState& each) { return std::lround(each.mhz) == mhz; });
    if (state == clocks_.end()) throw BugError(cat("the device has no clock of ", mhz, " MHz"));
    return *state;
}

void ClockSetter::set_clock(int mhz, Stream& stream) {
    stream.clock = find_state(mhz).speed;
    if (mhz == std::exchange(requested_mhz_, mhz)) return;
    if (!stream.is_on_gpu()) return device_->set_clock(mhz);
    stream.gpu_times->queue().call(request(mhz));
}

void ClockSetter::restore_clock(Stream& stream) {
    if (stream.clock != 1) set_clock(static_cast<int>(std::lround(clocks_.front().mhz)), stream);
    wait(stream);
}

void ClockSetter::wait(Stream& stream) {
    if (!stream.is_on_gpu() || !last_job_) return;
    const GpuQueue& queue = stream.gpu_times->queue();
    queue.wait();
    wait_for_requests(queue.wait_policy());
}

std::function<void()> ClockSetter::request(int mhz) {
    worker_.rethrow_exception();
    last_job_ = worker_.start([this, mhz] {
        if (is_ending_) return;
        reached_->wait();
        if (wait_for_interval()) execute(mhz);
    });
    return [reached = reached_] { reached->post(); };
}

// Each request has its own time limit, because many requests with a long interval may take longer.
void ClockSetter::wait_for_requests(const WaitPolicy& wait_policy) {
    if (!last_job_) return;
    for (; finished_jobs_ <= *last_job_; ++finished_jobs_) {
        wait_until([&] { return worker_.is_done(finished_jobs_); }, wait_policy,
                   [] { return "the driver to set the clock of its GPU"; });
    }
    worker_.rethrow_exception();
}

// Waits until min_seconds_ have passed since the last change. Returns false if this object is being destroyed.
bool ClockSetter::wait_for_interval() {
    std::unique_lock lock(mutex_);
    const std::chrono::duration<double> remaining(last_change_ + min_seconds_ - now_seconds());
    ending_changed_.wait_for(lock, remaining, [this] { return is_ending_.load(); });
    return !is_ending_;
}

// The interval is counted from the end of a change, so that a slow driver cannot shorten it. A clock that could
// be set before the run is a fault of the machine if it cannot be set later, and not one of the options.
void ClockSetter::execute(int mhz) {
    if (gate_ && !gate_->enter()) return;
    std::string error_text;
    try {
        device_->set_clock(mhz);
    } catch (const Error& error) {
        error_text = error.what();
    }
    if (gate_) gate_->leave();
    last_change_ = now_seconds();
    if (!error_text.empty()) throw ResourceError(cat("the clock cannot be set during a step: ", error_text));
}

}  // namespace trireme::device
