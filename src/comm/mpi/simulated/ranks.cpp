// What simulated ranks do: they share one process, wait in the simulator, and send memory without values.

#include <mpi.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <simgrid/Exception.hpp>
#include <simgrid/s4u/Actor.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <string_view>
#include <utility>

#include "comm/mpi/check_mpi.hpp"
#include "comm/mpi/groups.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "trireme/base/error.hpp"
#include "trireme/comm/node_memory.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::comm {
namespace {

// SimGrid knows hosts, one for each device, and not what they stand in: "node-3-device-1" is of node-3. A host
// of another name is a node.
std::string_view node_of(const simgrid::s4u::Host& host) {
    const std::string_view name = host.get_cname();
    return name.substr(0, name.find("-device-"));
}

// The same for all hosts of a node: the number of the first.
int number_of_own_node() {
    const std::vector<simgrid::s4u::Host*> hosts = simgrid::s4u::Engine::get_instance()->get_all_hosts();
    const std::string_view own = node_of(*simgrid::s4u::this_actor::get_host());
    const auto first = std::ranges::find_if(hosts, [&](const auto* host) { return node_of(*host) == own; });
    return static_cast<int>(std::distance(hosts.begin(), first));
}

MPI_Request message_to_itself() {
    MPI_Request received = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, &received), "MPI_Irecv");
    check_mpi(MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF), "MPI_Send");
    return received;
}

}  // namespace

void check_in(MPI_Comm, const std::vector<int>&, const std::string&, device::Patience) {}

void check_in_all(MPI_Comm, const std::string&, device::Patience) {}

std::vector<int> node_of_each(int, int size, const device::Patience&) {
    const int own = number_of_own_node();
    std::vector<int> all(static_cast<std::size_t>(size));
    check_mpi(MPI_Allgather(&own, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD), "MPI_Allgather");
    std::vector<int> first(all.size());
    std::ranges::transform(all, first.begin(), [&](int node) {
        return static_cast<int>(std::distance(all.begin(), std::ranges::find(all, node)));
    });
    return first;
}

double copied_bytes_per_second() {
    const char* const rate = sg_host_get_property_value(sg_host_self(), "copied_bytes_per_s");
    return rate == nullptr ? 0 : std::stod(rate);
}

// The simulator moves messages by itself.
void MpiCommunicator::progress() {}

// SimGrid 3.32 keeps each message that MPI_Test found done in a list of its rank, and every later MPI_Wait
// searches that list. MPI_Waitany takes messages off the list. So that it returns at once, its second request
// is that of an empty message which the rank sent to itself before now. Where there is none, MPI_Test has to
// do.
int MpiCommunicator::test(MPI_Request& request, bool& is_done, MPI_Status& status) {
    int code = MPI_SUCCESS;
    if (messages_to_itself_.empty() || messages_to_itself_.front().sent >= device::now_seconds()) {
        int flag = 0;
        code = MPI_Test(&request, &flag, &status);
        is_done = flag != 0;
    } else {
        std::array requests{request, messages_to_itself_.front().request};
        int index = 0;
        code = MPI_Waitany(requests.size(), requests.data(), &index, &status);
        request = requests[0];
        is_done = index == 0;
        if (!is_done) messages_to_itself_.pop_front();
    }
    if (!is_done) messages_to_itself_.push_back({message_to_itself(), device::now_seconds()});
    return code;
}

// Blocks, for to ask again and again would take time that the message does not need. That a message never comes
// the simulator finds by itself, and then ends every rank; where a stall is an answer, the rank asks instead.
void MpiCommunicator::wait_for(Ticket ticket) {
    const auto has_come = [&] {
        constexpr unsigned nap_us = 1000;
        const bool is_here = is_done(ticket);
        if (!is_here) smpi_usleep(nap_us);
        return is_here;
    };
    if (patience().stall_is_answer) return wait_until(has_come, patience(), [&] { return name_of(ticket); });
    Slot& slot = slots_[index_of(ticket)];
    try {
        while (slot.parts_done < slot.parts.size()) {
            MPI_Status status{};
            const int code = MPI_Wait(&slot.parts[slot.parts_done], &status);
            finish_part(slot, {.code = code, .status = status});
        }
    } catch (const simgrid::ForcefulKillException&) {
        throw ResourceError(
            cat("waited for ", name_of(ticket), ", and no other rank can continue: a deadlock"));
    }
}

// All ranks share this process. (SMPI's MPI_Abort would end them with exit code 0.)
void Session::abort(int exit_code) const {
    std::fflush(nullptr);
    std::_Exit(exit_code);
}

// The simulator sees by itself that nobody can go on.
void Session::end(const std::function<void()>& /*is_stuck*/) {
    if (std::exchange(has_started_, false)) MPI_Finalize();
}

BlankMemory::BlankMemory(std::size_t bytes) : bytes_(bytes), data_(SMPI_SHARED_MALLOC(bytes)) {
    if (data_ == nullptr) throw ResourceError(cat("no ", bytes, " bytes for messages"));
}

BlankMemory::~BlankMemory() { SMPI_SHARED_FREE(data_); }

}  // namespace trireme::comm
