// Linked into programs whose ranks each have an emulated GPU. It connects the NCCL stand-in to the emulated
// queues, and fails at the end if there are complaints.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "emulated_gpu/queue.hpp"
#include "nccl_stand_in/stand_in.hpp"
#include "trireme/device/shared_library.hpp"

namespace trireme {
namespace {

class WatchedStandIn {
public:
    WatchedStandIn() {
        if (std::getenv("TRIREME_EMULATED_GPU_EACH") == nullptr) return;
        library_.emplace(std::vector<std::string>{"libnccl.so.2"}, "a test");
        nccl_stand_in::GetSettings* settings = nullptr;
        library_->load_symbol("nccl_stand_in_settings", settings);
        settings()->submit_until = emulated::submit_until;
        gpu_ = std::thread([this] {
            for (; !ends_; std::this_thread::sleep_for(std::chrono::microseconds{50})) emulated::advance_gpu();
        });
    }

    ~WatchedStandIn() {
        if (!library_) return;
        ends_ = true;
        gpu_.join();
        nccl_stand_in::ForgetAll* forget_all = nullptr;
        nccl_stand_in::GetComplaints* complaints = nullptr;
        library_->load_symbol("nccl_stand_in_forget_all", forget_all);
        library_->load_symbol("nccl_stand_in_complaints", complaints);
        forget_all();
        for (const std::string& complaint : *complaints())
            std::fprintf(stderr, "NCCL's stand-in: %s\n", complaint.c_str());
        constexpr int a_bug = 70;
        if (!complaints()->empty()) _exit(a_bug);
    }

private:
    std::optional<device::SharedLibrary> library_;
    std::atomic<bool> ends_ = false;
    std::thread gpu_;  // runs while its rank waits, because other ranks may wait for its messages
};

const WatchedStandIn stand_in;

}  // namespace
}  // namespace trireme
