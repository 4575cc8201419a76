// Gives tests access to the NCCL stand-in.
#pragma once

#include <string>
#include <vector>

#include "nccl_stand_in/stand_in.hpp"
#include "trireme/device/shared_library.hpp"

namespace trireme {

class StandIn {
public:
    StandIn();
    ~StandIn() { forget_all_(); }
    StandIn(const StandIn&) = delete;
    StandIn& operator=(const StandIn&) = delete;

    static std::vector<std::string> path() { return {TRIREME_NCCL_STAND_IN}; }

    nccl_stand_in::Settings& settings() const { return *settings_(); }
    void disappear() const { disappear_(); }

    // Returns the complaints since the last call. By default it also complains about everything that has not
    // been ended, and ends it.
    enum class Leftovers : std::uint8_t { are_ended, are_left };
    std::vector<std::string> complaints(Leftovers leftovers = Leftovers::are_ended) const;

private:
    device::SharedLibrary library_{path(), "a test"};
    nccl_stand_in::GetSettings* settings_ = nullptr;
    nccl_stand_in::GetComplaints* complaints_ = nullptr;
    nccl_stand_in::ForgetAll* forget_all_ = nullptr;
    nccl_stand_in::Disappear* disappear_ = nullptr;
};

}  // namespace trireme
