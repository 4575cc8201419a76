#include "trireme/device/worker.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "trireme/device/clock.hpp"

namespace trireme::device {

struct Worker::Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> waiting;
    std::size_t given = 0;
    std::size_t ended = 0;
    std::exception_ptr thrown;
    bool ends = false;
    std::thread thread;  // started with the first job; never in a simulation

    bool has_thrown() {
        const std::lock_guard lock(mutex);
        return thrown != nullptr;
    }

    void carry_out(const std::function<void()>& job) {
        if (!has_thrown()) {
            try {
                job();
            } catch (...) {
                const std::lock_guard lock(mutex);
                thrown = std::current_exception();  // rethrow() and finish() throw it again
            }
        }
        {
            const std::lock_guard lock(mutex);
            ++ended;
        }
        changed.notify_all();
    }

    void loop() {
        std::unique_lock lock(mutex);
        while (true) {
            changed.wait(lock, [&] { return ends || !waiting.empty(); });
            if (ends) return;
            const std::function<void()> job = std::move(waiting.front());
            waiting.pop_front();
            lock.unlock();
            carry_out(job);
            lock.lock();
        }
    }
};

Worker::Worker() : shared_(std::make_unique<Shared>()) {}

Worker::~Worker() {
    if (!shared_->thread.joinable()) return;
    {
        const std::lock_guard lock(shared_->mutex);
        shared_->ends = true;
    }
    shared_->changed.notify_one();
    shared_->thread.join();
}

Worker::Job Worker::start(std::function<void()> job) {
    const Job number = shared_->given++;
    if (time_is_simulated()) {
        shared_->carry_out(job);
        return number;
    }
    {
        const std::lock_guard lock(shared_->mutex);
        shared_->waiting.push_back(std::move(job));
    }
    shared_->changed.notify_all();
    if (!shared_->thread.joinable())
        shared_->thread = std::thread([shared = shared_.get()] { shared->loop(); });
    return number;
}

bool Worker::is_done(Job job) const {
    const std::lock_guard lock(shared_->mutex);
    return job < shared_->ended;
}

void Worker::finish(Job job) {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait(lock, [&] { return job < shared_->ended; });
    if (const std::exception_ptr thrown = std::exchange(shared_->thrown, nullptr))
        std::rethrow_exception(thrown);
}

void Worker::rethrow() const {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->thrown != nullptr) std::rethrow_exception(shared_->thrown);
}

void Worker::clear() {
    const std::lock_guard lock(shared_->mutex);
    shared_->thrown = nullptr;
}

}  // namespace trireme::device
