// A group of ranks over an MPI communicator of its own.
#pragma once

#include <mpi.h>

#include <map>
#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme {

class MpiCommunicator final : public Communicator {
public:
    // Collective over `parent`: duplicates it.
    MpiCommunicator(MPI_Comm parent, std::string name, Patience patience);
    ~MpiCommunicator() override;
    MpiCommunicator(const MpiCommunicator&) = delete;
    MpiCommunicator& operator=(const MpiCommunicator&) = delete;

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    const std::string& name() const override { return name_; }

    Ticket start_send(ConstTensor tensor, int peer) override;
    Ticket start_receive(Tensor tensor, int peer) override;
    bool is_done(Ticket ticket) override;

protected:
    std::string describe(Ticket ticket) const override;

private:
    struct Message {
        int peer = 0;
        bool is_send = false;
        std::vector<MPI_Request> parts;  // MPI counts are int: large messages travel in several
    };
    Ticket remember(Message message);

    MPI_Comm comm_ = MPI_COMM_NULL;
    std::string name_;
    int rank_ = 0;
    int size_ = 1;
    Ticket next_ticket_ = 0;
    std::map<Ticket, Message> in_flight_;
};

}  // namespace trireme
