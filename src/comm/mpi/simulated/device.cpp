// Time and power of a simulated device. This file is linked explicitly into every simulated program, so that
// the linker does not use src/device/wall_device.cpp.

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/plugins/energy.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/clocked_device.hpp"

namespace trireme::device {
namespace {

// Returns the clocks of this host in MHz, for example "1530,1440"; null if the cluster file lists no clocks.
// SimGrid measures the energy only of hosts with clocks.
const char* get_clock_list() { return sg_host_get_property_value(sg_host_self(), "mhz"); }

// The host of the calling rank. Its states (pstates) are in the order of its clocks.
class SimulatedDevice final : public ClockedDevice {
public:
    std::vector<ClockState> list_clocks() const override {
        const char* const clock_list = get_clock_list();
        if (clock_list == nullptr) return {};
        const sg_host_t host = sg_host_self();
        std::vector<ClockState> clocks;
        std::istringstream text(clock_list);
        for (std::string mhz; std::getline(text, mhz, ',');) {
            const double speed =
                sg_host_get_pstate_speed(host, clocks.size()) / sg_host_get_pstate_speed(host, 0);
            clocks.push_back({.mhz = std::stod(mhz), .speed = speed});
        }
        return clocks;
    }

    void set_clock(int mhz) override {
        const std::vector<ClockState> clocks = list_clocks();
        const auto clock =
            std::ranges::find_if(clocks, [&](const ClockState& each) { return std::lround(each.mhz) == mhz; });
        if (clock == clocks.end()) throw ConfigError(cat("the simulated device has no clock of ", mhz, " MHz"));
        sg_host_set_pstate(sg_host_self(), static_cast<unsigned long>(clock - clocks.begin()));
    }

    bool restore_clock() noexcept override {
        sg_host_set_pstate(sg_host_self(), 0);
        return true;
    }

    std::optional<double> read_joules() const override {
        if (get_clock_list() == nullptr) return std::nullopt;
        return sg_host_get_consumed_energy(sg_host_self());
    }
};

}  // namespace

// Unlike MPI_Wtime(), simgrid_get_clock() takes no simulated time.
double now_seconds() { return simgrid_get_clock(); }

bool time_is_simulated() { return true; }

// Executes the flops that take `seconds` in the current clock state, to which sg_host_get_speed() refers.
void busy_for(double seconds) { smpi_execute_flops(seconds * sg_host_get_speed(sg_host_self())); }

void idle_for(double seconds) { sg_actor_sleep_for(seconds); }

std::shared_ptr<ClockedDevice> make_simulated_device() { return std::make_shared<SimulatedDevice>(); }

}  // namespace trireme::device
