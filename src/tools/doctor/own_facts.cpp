#include <unistd.h>

#include <algorithm>

#include "tools/doctor/probes.hpp"
#include "trireme/base/version.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::tools::doctor {
namespace {

double read_node_bytes() {
    return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Records the memory that is left on the node. If a control group of this process has less memory left, records
// that amount and the group instead.
void add_memory(RankFacts& facts) {
    const std::vector<device::UsableMemory> limits = device::find_usable_memory();
    const auto fullest = std::ranges::min_element(limits, {}, &device::UsableMemory::available_bytes);
    if (fullest == limits.end()) return;
    facts.available_bytes = static_cast<double>(fullest->available_bytes);
    if (fullest->cgroup.empty()) return;
    facts.memory_group = fullest->cgroup;
    facts.memory_group_bytes = static_cast<double>(fullest->total_bytes);
}

// Records the reason if CUDA cannot use the GPUs. Otherwise adds the models and bus ids of GPUs that /proc does
// not list, as in a container.
void add_cuda_facts(RankFacts& facts) {
    if (facts.gpus.empty() || !make_build_facts().has_cuda) return;
    const device::GpuSearch search = device::find_gpus();
    facts.cuda_complaint = search.complaint;
    complete_from_cuda(facts.gpus, search.gpus);
}

}  // namespace

RankFacts gather_own_facts(const DoctorInputs& inputs) {
    RankFacts facts{.program = describe_version(),
                    .mpi_library = inputs.session.library(),
                    .host = inputs.session.host(),
                    .processor = device::read_processor_name(),
                    .node = inputs.session.node(),
                    .cores = device::list_usable_cores(),
                    .node_cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
                    .threads = inputs.threads,
                    .node_bytes = read_node_bytes(),
                    .gpus = select_visible_gpus(find_usable_gpus("/"), inputs.job.visible_devices),
                    .node_gpus = count_gpus("/")};
    add_memory(facts);
    add_cuda_facts(facts);
    facts.gpu_states = read_gpu_states(facts.gpus);
    return facts;
}

}  // namespace trireme::tools::doctor
