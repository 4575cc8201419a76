// A thread that works behind the one that made it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace trireme::device {

// Does what it is given in order, one thing after the other. A job calls neither MPI nor HDF5, and is given
// back all that it throws. In a simulation, which knows no threads, a job is done when it is given.
class Worker {
public:
    using Job = std::size_t;  // from 0

    Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker();  // waits for the job that has begun; the others are not begun any more

    // What the job uses outlives it. After one that threw, those behind it are left out until clear().
    Job start(std::function<void()> job);
    // Whether it has ended, or was left out.
    bool is_done(Job job) const;
    // Waits without looking at anything else; then as rethrow(), and forgets it. For short jobs.
    void finish(Job job);
    // Throws what a job threw, once all that were given have ended.
    void rethrow() const;
    void clear();  // all that were given have ended: forgets what they threw

private:
    struct Shared;

    std::unique_ptr<Shared> shared_;
};

}  // namespace trireme::device
