#include <mpi.h>

#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "trireme/comm/session.hpp"

namespace trireme {
namespace {

constexpr std::chrono::seconds patience{20};

}  // namespace

void Session::end(const std::function<void()>& is_stuck) {
    if (!std::exchange(has_started_, false)) return;
    std::promise<void> over;
    std::thread observer([is_over = over.get_future(), &is_stuck] {
        if (is_over.wait_for(patience) == std::future_status::timeout) is_stuck();
    });
    MPI_Finalize();
    over.set_value();
    observer.join();
}

}  // namespace trireme
