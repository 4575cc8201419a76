// Sets what the NVML stand-in plays in a test, and reads its log.
#pragma once

#include <cstdlib>
#include <string>

#include "scratch_folder.hpp"

namespace trireme::validation {

constexpr const char* nvml_stand_in = TRIREME_NVML_STAND_IN;
constexpr const char* first_gpu = "0000:01:00.0";
constexpr const char* second_gpu = "0000:65:00.0";

// Sets the environment variables of the stand-in for the object's lifetime.
class NvmlStandIn {
public:
    explicit NvmlStandIn(const char* play = "well") : log_(folder_.file("log")) {
        change(play);
        ::setenv("NVML_STAND_IN_LOG", log_.c_str(), 1);
    }
    ~NvmlStandIn() {
        ::unsetenv("NVML_STAND_IN_PLAY");
        ::unsetenv("NVML_STAND_IN_LOG");
    }
    NvmlStandIn(const NvmlStandIn&) = delete;
    NvmlStandIn& operator=(const NvmlStandIn&) = delete;

    void change(const char* play) { ::setenv("NVML_STAND_IN_PLAY", play, 1); }
    // Returns one line for each clock limit that was set or reset.
    std::string log() const { return read_whole(log_); }

private:
    ScratchFolder folder_;
    std::string log_;
};

}  // namespace trireme::validation
