#include "tools/doctor/own_facts.hpp"

#include <unistd.h>

#include "trireme/base/version.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::doctor {
namespace {

double memory_of_node() {
    return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

RankFacts own_facts(const DoctorPlace& place) {
    return {.program = version(),
            .library = place.session.library(),
            .host = place.session.host(),
            .processor = processor_name(),
            .node = place.session.node(),
            .cores = usable_cores(),
            .node_cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
            .threads = place.threads,
            .node_bytes = memory_of_node(),
            .available_bytes = static_cast<double>(available_memory_bytes().value_or(0)),
            .gpus = visible_gpus(gpus_of_machine("/"), place.job.visible_devices),
            .node_gpus = gpus_shown("/")};
}

}  // namespace trireme::doctor
