// Test functions of the stand-in in addition to NCCL's functions; both are found in the library by name.
//
// The stand-in moves bytes between processes, as NCCL does between GPUs, and is stricter: usage with which NCCL
// may hang is rejected with a message that names the rank and its call.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace trireme::nccl_stand_in {

struct Settings {
    // Submits work to a queue of the emulated GPU; the work takes until the function returns true.
    void (*submit_until)(void* stream, std::function<bool()> is_over) = nullptr;

    // Intentional misbehaviour:
    int version = 999'999;     // 99.99.99, which is no NCCL release: records made with the stand-in show it
    bool never_opens = false;  // communicators of this process never become ready
    int operations_until_failure = -1;  // of this process; negative if none fails
    std::int64_t process = 0;           // process id that it pretends to have; 0 for the real one
};

// "nccl_stand_in_settings": the settings of this process.
using GetSettings = Settings*();
// "nccl_stand_in_complaints": calls of this process that NCCL forbids or may hang with. The reader clears them.
using GetComplaints = std::vector<std::string>*();
// "nccl_stand_in_forget_all": adds a complaint for everything that this process has not ended, and resets all
// state.
using ForgetAll = void();
// "nccl_stand_in_disappear": to the other ranks this process is dead from now on.
using Disappear = void();

}  // namespace trireme::nccl_stand_in
