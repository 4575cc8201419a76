// A program on an emulated GPU each: the stand-in of NCCL is told where its work goes, and asked at the end
// whether it has anything to complain of.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

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
        nccl_stand_in::SettingsOf* settings = nullptr;
        library_->find("nccl_stand_in_settings", settings);
        settings()->stand_until = emulated::stand_until;
    }

    ~WatchedStandIn() {
        if (!library_) return;
        nccl_stand_in::ForgetAll* forget_all = nullptr;
        nccl_stand_in::ComplaintsOf* complaints = nullptr;
        library_->find("nccl_stand_in_forget_all", forget_all);
        library_->find("nccl_stand_in_complaints", complaints);
        forget_all();
        for (const std::string& complaint : *complaints())
            std::fprintf(stderr, "NCCL's stand-in: %s\n", complaint.c_str());
        constexpr int a_bug = 70;
        if (!complaints()->empty()) _exit(a_bug);
    }

private:
    std::optional<SharedLibrary> library_;
};

const WatchedStandIn stand_in;

}  // namespace
}  // namespace trireme
