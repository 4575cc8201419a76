// MPI operations of simulated ranks, which share one process,
// wait in the simulator, and send memory without values.

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

// SimGrid has one host per device and no nodes. A host "node-3-device-1" belongs to node-3; a host with another
// kind of name is a node by itself.
std::string_view node_of(const simgrid::s4u::Host& host) {
    const std::string_view name = host.get_cname();
    return name.substr(0, name.find("-device-"));
}

// Returns the index of the first host of this rank's node, which identifies the node.
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

// The simulator progresses messages by itself.
void MpiCommunicator::progress() {}

// SimGrid 3.32 keeps each message that MPI_Test found done in a list of its rank, and
// every later MPI_Wait searches that list. MPI_Waitany removes messages from the list.
// To make it return at once, its second request is that of an empty message that the
// rank sent to itself earlier. Without such a message this falls back to MPI_Test.
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

// Blocks, because polling would take simulated time that the message does not need. If a message never comes,
// the simulator detects the deadlock and ends every rank. If a stall is an answer, this polls instead.
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

// Ends the process, which all ranks share. (SMPI's MPI_Abort would end it with exit code 0.)
void Session::abort(int exit_code) const {
    std::fflush(nullptr);
    std::_Exit(exit_code);
}

// Needs no time limit, because the simulator detects a deadlock by itself.
void Session::end(const std::function<void()>& /*is_stuck*/) {
    if (std::exchange(has_started_, false)) MPI_Finalize();
}

BlankMemory::BlankMemory(std::size_t bytes) : bytes_(bytes), data_(SMPI_SHARED_MALLOC(bytes)) {
    if (data_ == nullptr) throw ResourceError(cat("no ", bytes, " bytes for messages"));
}

BlankMemory::~BlankMemory() { SMPI_SHARED_FREE(data_); }

}  // namespace trireme::comm
