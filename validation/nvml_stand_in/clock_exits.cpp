// clock_exits LIBRARY WAY CLOCKS: two ranks with a GPU each limit their clocks and then end in the given way,
// like `trireme train` (main.cpp). If CLOCKS is "changing", they change their clocks until they end.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

#include "trireme/base/error.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/rank/rank_gpu.hpp"

namespace trireme {
namespace {

constexpr int mhz = 1200;

// Changes the clock as the programs of a pipeline do, on a GPU that has no kernels.
void change_clocks(const std::stop_token& stop, device::ClockSetter& setter) {
    while (!stop.stop_requested()) {
        for (const int each : {1980, mhz}) setter.request(each)();
        setter.wait_for_requests({});
    }
}

[[noreturn]] void wait_forever() {
    for (;;) ::sleep(1);
}

void end_by(const std::string& way, const comm::Session& session) {
    const bool is_second = session.rank() == 1;
    if (way == "well") return;
    if (way == "together") throw ConfigError("all ranks leave together");
    if (way == "two_interrupts") {
        ::kill(::getpid(), SIGINT);
        ::sleep(1);
        ::kill(::getpid(), SIGINT);
        wait_forever();
    }
    if (way == "alone" && is_second) throw ResourceError("this rank alone cannot go on");
    if (way == "killed" && is_second) ::kill(::getpid(), SIGKILL);
    wait_forever();
}

void run(const std::string& library, const std::string& way, bool changes, comm::Session& session,
         device::StopSignals& signals) {
    const auto all = session.make_group_of_all_ranks("clocks", {});
    const std::string own = session.rank() == 0 ? "0000:01:00.0" : "0000:65:00.0";
    rank::RankGpu gpu({.rank = session.rank(), .nodes = session.nodes(), .bus_ids = all_gather(*all, own)},
                      library);
    run_or_fail_together(*all, [&] { gpu.require_meter("a clock").check_clock(mhz); });
    run_or_fail_together(*all, [&] { gpu.set_clock(mhz); });
    if (changes) gpu.make_clock_setter(session, 0);
    gpu.restore_clocks_on(&signals);
    std::jthread changer;
    if (changes) changer = std::jthread(change_clocks, std::ref(*gpu.clock_setter()));
    barrier(*all);
    if (changes) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    end_by(way, session);
}

int run(int argc, char** argv) {
    device::StopSignals signals;
    comm::Session session(argc, argv);
    signals.install_handlers();
    try {
        run(argv[1], argv[2], std::string_view(argv[3]) == "changing", session, signals);
    } catch (const ConfigError& error) {
        if (session.rank() == 0) std::cerr << "trireme: " << error.what() << std::endl;
        return static_cast<int>(error.code());
    } catch (const Error& error) {
        std::cerr << "trireme: " << error.what() << std::endl;
        session.abort(static_cast<int>(error.code()));
    }
    return 0;
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) { return trireme::run(argc, argv); }
