// MPI operations of simulated ranks, and BlankMemory, the buffer of messages without values. Simulated ranks
// share one process and wait inside the simulator.

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

// Returns the name of the node to which a host belongs. SimGrid has one host per device and no nodes: host
// "node-3-device-1" belongs to "node-3", and a host with a name of another form is a node by itself.
std::string_view get_node_name(const simgrid::s4u::Host& host) {
    const std::string_view name = host.get_cname();
    return name.substr(0, name.find("-device-"));
}

// Returns the index of the first host of this rank's node, which identifies the node.
int find_own_node_index() {
    const std::vector<simgrid::s4u::Host*> hosts = simgrid::s4u::Engine::get_instance()->get_all_hosts();
    const std::string_view own_node = get_node_name(*simgrid::s4u::this_actor::get_host());
    const auto first =
        std::ranges::find_if(hosts, [&](const auto* host) { return get_node_name(*host) == own_node; });
    return static_cast<int>(std::distance(hosts.begin(), first));
}

constexpr std::size_t calls_per_message_to_itself = 2;  // number of calls of the simulator

// Lets other simulated ranks run, `count` times. A call that yields is cheaper than an MPI call.
void yield(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) simgrid::s4u::this_actor::yield();
}

// Sends an empty message from this rank to itself. Returns the request of the receive.
MPI_Request send_empty_message_to_itself() {
    MPI_Request received = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF, &received), "MPI_Irecv");
    check_mpi(MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_SELF), "MPI_Send");
    return received;
}

}  // namespace

// The simulator detects a deadlock if a rank never makes the call, so waiting for ranks is a no-op.
void wait_for_ranks(MPI_Comm, const std::vector<int>&, const std::string&, device::WaitPolicy) {}

void wait_for_all_ranks(MPI_Comm, const std::string&, device::WaitPolicy) {}

std::vector<int> find_nodes(int, int size, const device::WaitPolicy&) {
    const int own_index = find_own_node_index();
    std::vector<int> indices(static_cast<std::size_t>(size));
    check_mpi(MPI_Allgather(&own_index, 1, MPI_INT, indices.data(), 1, MPI_INT, MPI_COMM_WORLD),
              "MPI_Allgather");
    std::vector<int> lowest_ranks(indices.size());
    std::ranges::transform(indices, lowest_ranks.begin(), [&](int index) {
        return static_cast<int>(std::distance(indices.begin(), std::ranges::find(indices, index)));
    });
    return lowest_ranks;
}

double find_copy_bandwidth() {
    const char* const rate = sg_host_get_property_value(sg_host_self(), "copied_bytes_per_s");
    return rate == nullptr ? 0 : std::stod(rate);
}

// The simulator progresses messages by itself.
void MpiCommunicator::progress() {}

// SimGrid 3.32 has a list per rank of the messages that MPI_Test found to be done. Every later MPI_Wait
// searches that list. MPI_Waitany removes messages from the list; therefore this function calls MPI_Waitany in
// place of MPI_Test. The second request of MPI_Waitany belongs to an empty message that the rank sent to itself
// at an earlier simulated time. That message has arrived, so that MPI_Waitany returns at once. If there is no
// such message, this function calls MPI_Test.
int MpiCommunicator::test(MPI_Request& request, bool& is_done, MPI_Status& status) {
    int code = MPI_SUCCESS;
    if (!has_earlier_message_to_itself()) {
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
    if (!is_done) send_message_to_itself();
    return code;
}

bool MpiCommunicator::has_earlier_message_to_itself() const {
    return !messages_to_itself_.empty() && messages_to_itself_.front().send_time < device::now_seconds();
}

// Keeps only a few messages, because every later call of MPI_Wait searches the list of them. In place of
// sending more, yields as often as a message calls the simulator, see remove_done().
void MpiCommunicator::send_message_to_itself() {
    constexpr std::size_t max_messages = 16;
    if (messages_to_itself_.size() < max_messages) {
        messages_to_itself_.push_back({send_empty_message_to_itself(), device::now_seconds()});
    } else {
        yield(calls_per_message_to_itself);
    }
}

// Without an earlier message to itself, `ids` must have one element. MPI_Waitany returns
// the first message that is done, but sends without a SimGrid activity before all receives.
std::size_t MpiCommunicator::finish_one(std::span<const RequestId> ids) {
    std::vector<MPI_Request> requests;
    for (const RequestId id : ids) {
        const Slot& slot = slots_[find_index(id)];
        requests.push_back(slot.requests[slot.finished_requests]);
    }
    int index = 0;
    MPI_Status status{};
    int code = MPI_SUCCESS;
    if (has_earlier_message_to_itself()) {
        requests.push_back(messages_to_itself_.front().request);
        code = MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, &status);
    } else {
        int is_done = 0;
        code = MPI_Test(requests.data(), &is_done, &status);
        if (code == MPI_SUCCESS && is_done == 0) return ids.size();
    }
    const auto finished = static_cast<std::size_t>(index);
    if (finished == ids.size()) {
        messages_to_itself_.pop_front();
    } else {
        Slot& slot = slots_[find_index(ids[finished])];
        slot.requests[slot.finished_requests] = requests[finished];
        finish_request(slot, {.code = code, .status = status});
    }
    return finished;
}

// Tests all messages at once, see test(). The order in which ranks call the simulator at one simulated time may
// change the times of messages. Therefore this function yields until it has called the simulator as often as
// one call of is_done() per message does.
// A message to itself is also sent if all of the first messages were done, because later tests need one.
void MpiCommunicator::remove_done(std::vector<RequestId>& ids) {
    if (ids.empty()) return;
    std::size_t failed_tests = 0;  // number of tests that found no message done
    std::size_t first = 0;         // index in `ids` of the first message to test
    while (first < ids.size()) {
        const std::size_t count = has_earlier_message_to_itself() ? ids.size() - first : 1;
        const std::size_t finished = finish_one(std::span(ids).subspan(first, count));
        if (finished == count) {
            ++failed_tests;
            first += count;
            continue;
        }
        // A finished receive may take simulated time, so that the messages before it are not tested again.
        const std::size_t index = first + finished;
        const Slot& slot = slots_[ids[index] & slot_mask];
        if (!slot.is_send) first = index;
        if (slot.id != ids[index]) ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(index));
    }
    if (ids.empty() && !messages_to_itself_.empty()) return;
    send_message_to_itself();
    const std::size_t calls = failed_tests + calls_per_message_to_itself;
    const std::size_t wanted_calls = (1 + calls_per_message_to_itself) * ids.size();
    if (calls < wanted_calls) yield(wanted_calls - calls);
}

// Blocks, because polling would take simulated time that the message does not need. If a message never comes,
// the simulator detects the deadlock and ends every rank. If the caller expects stalls, this function polls
// instead.
void MpiCommunicator::wait_for(RequestId id) {
    const auto test_or_sleep = [&] {
        constexpr unsigned sleep_us = 1000;
        const bool is_over = is_done(id);
        if (!is_over) smpi_usleep(sleep_us);
        return is_over;
    };
    if (wait_policy().expects_stall)
        return wait_until(test_or_sleep, wait_policy(), [&] { return to_string(id); });
    Slot& slot = slots_[find_index(id)];
    try {
        while (slot.finished_requests < slot.requests.size()) {
            MPI_Status status{};
            const int code = MPI_Wait(&slot.requests[slot.finished_requests], &status);
            finish_request(slot, {.code = code, .status = status});
        }
    } catch (const simgrid::ForcefulKillException&) {
        throw ResourceError(cat("waited for ", to_string(id), ", and no other rank can continue: a deadlock"));
    }
}

// Ends the process, which runs all ranks. (SMPI's MPI_Abort would end the process with exit code 0.)
void Session::abort(int exit_code) const {
    std::fflush(nullptr);
    std::_Exit(exit_code);
}

// Needs no time limit, because the simulator detects a deadlock by itself.
void Session::finalize(const std::function<void()>& /*on_stuck*/) {
    if (std::exchange(owns_mpi_, false)) MPI_Finalize();
}

BlankMemory::BlankMemory(std::size_t bytes) : bytes_(bytes), data_(SMPI_SHARED_MALLOC(bytes)) {
    if (data_ == nullptr)
        throw ResourceError(cat("cannot allocate ", bytes, " bytes for the messages of the simulation"));
}

BlankMemory::~BlankMemory() { SMPI_SHARED_FREE(data_); }

}  // namespace trireme::comm
