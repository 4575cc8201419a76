// What tests ask of the stand-in beside NCCL's functions, found in it by name as these are.
//
// It carries bytes between processes, as NCCL between GPUs, and is stricter: what NCCL lets pass now and hangs
// at another time is refused, in a sentence that says which rank did what.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace trireme::nccl_stand_in {

struct Settings {
    // Gives the queue of the emulated GPU work that takes until the function says so.
    void (*stand_until)(void* stream, std::function<bool()> is_over) = nullptr;

    // What it does on purpose.
    int version = 999'999;     // 99.99.99, which no release of NCCL has: records made with the stand-in show it
    bool never_opens = false;  // communicators of this process
    int operations_until_failure = -1;  // of this process; below 0: none fails
    std::int64_t process = 0;           // which it says that it is; 0: the one it is
};

// "nccl_stand_in_settings", of this process.
using SettingsOf = Settings*();
// "nccl_stand_in_complaints": what this process did that NCCL forbids, or would hang at; taken away.
using ComplaintsOf = std::vector<std::string>*();
// "nccl_stand_in_forget_all": adds to the complaints what this process has not ended; forgets all.
using ForgetAll = void();
// "nccl_stand_in_disappear": to the others this process is dead from here on.
using Disappear = void();

}  // namespace trireme::nccl_stand_in
