#include <unistd.h>

#include <algorithm>

#include "tools/doctor/probes.hpp"
#include "trireme/base/version.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::tools::doctor {
namespace {

double memory_of_node() {
    return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Records the memory of the node or control group that has the least left.
void add_memory(RankFacts& facts) {
    const std::vector<device::UsableMemory> rooms = device::usable_memory();
    const auto least = std::ranges::min_element(rooms, {}, &device::UsableMemory::left);
    if (least == rooms.end()) return;
    facts.available_bytes = static_cast<double>(least->left);
    if (least->group.empty()) return;
    facts.memory_group = least->group;
    facts.group_bytes = static_cast<double>(least->bytes);
}

// Containers hide the model and bus id of a device. CUDA reports them even there.
void look_with_cuda(RankFacts& facts) {
    if (facts.gpus.empty() || !build_facts().has_cuda) return;
    const device::GpuSearch search = device::find_gpus();
    facts.cuda_complaint = search.complaint;
    add_what_cuda_tells(facts.gpus, search.gpus);
}

}  // namespace

RankFacts own_facts(const DoctorPlace& place) {
    RankFacts facts{.program = version(),
                    .library = place.session.library(),
                    .host = place.session.host(),
                    .processor = device::processor_name(),
                    .node = place.session.node(),
                    .cores = device::usable_cores(),
                    .node_cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
                    .threads = place.threads,
                    .node_bytes = memory_of_node(),
                    .gpus = visible_gpus(gpus_of_machine("/"), place.job.visible_devices),
                    .node_gpus = gpus_shown("/")};
    add_memory(facts);
    look_with_cuda(facts);
    facts.gpu_states = states_of(facts.gpus);
    return facts;
}

}  // namespace trireme::tools::doctor
