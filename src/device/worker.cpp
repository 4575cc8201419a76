#include "trireme/device/worker.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "trireme/device/clock.hpp"

namespace trireme::device {

struct Worker::State {
    std::mutex mutex;
    std::condition_variable state_changed;
    std::deque<std::function<void()>> queue;
    std::size_t queued_jobs = 0;
    std::size_t ended_jobs = 0;
    std::exception_ptr exception;
    bool should_end = false;
    std::thread thread;  // started with the first job; never in a simulation

    bool has_exception() {
        const std::lock_guard lock(mutex);
        return exception != nullptr;
    }

    void execute(const std::function<void()>& job) {
        if (!has_exception()) {
            try {
                job();
            } catch (...) {
                const std::lock_guard lock(mutex);
                exception = std::current_exception();  // rethrow_exception() and wait_for() throw it again
            }
        }
        {
            const std::lock_guard lock(mutex);
            ++ended_jobs;
        }
        state_changed.notify_all();
    }

    void execute_queue() {
        std::unique_lock lock(mutex);
        while (true) {
            state_changed.wait(lock, [&] { return should_end || !queue.empty(); });
            if (should_end) return;
            const std::function<void()> job = std::move(queue.front());
            queue.pop_front();
            lock.unlock();
            execute(job);
            lock.lock();
        }
    }
};

Worker::Worker() : state_(std::make_unique<State>()) {}

Worker::~Worker() {
    if (!state_->thread.joinable()) return;
    {
        const std::lock_guard lock(state_->mutex);
        state_->should_end = true;
    }
    state_->state_changed.notify_one();
    state_->thread.join();
}

Worker::JobId Worker::start(std::function<void()> job) {
    const JobId id = state_->queued_jobs++;
    if (time_is_simulated()) {
        state_->execute(job);
        return id;
    }
    {
        const std::lock_guard lock(state_->mutex);
        state_->queue.push_back(std::move(job));
    }
    state_->state_changed.notify_all();
    if (!state_->thread.joinable())
        state_->thread = std::thread([state = state_.get()] { state->execute_queue(); });
    return id;
}

bool Worker::is_done(JobId job) const {
    const std::lock_guard lock(state_->mutex);
    return job < state_->ended_jobs;
}

void Worker::wait_for(JobId job) {
    std::unique_lock lock(state_->mutex);
    state_->state_changed.wait(lock, [&] { return job < state_->ended_jobs; });
    if (const std::exception_ptr exception = std::exchange(state_->exception, nullptr))
        std::rethrow_exception(exception);
}

void Worker::rethrow_exception() const {
    const std::lock_guard lock(state_->mutex);
    if (state_->exception != nullptr) std::rethrow_exception(state_->exception);
}

void Worker::clear_exception() {
    const std::lock_guard lock(state_->mutex);
    state_->exception = nullptr;
}

}  // namespace trireme::device
