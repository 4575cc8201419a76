#include "nccl_stand_in/board.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

namespace trireme::nccl_stand_in {
namespace {

const std::string prefix = "trireme_nccl_";

// Boards that this process has made. They are removed when it ends, however far its tests came.
struct CreatedBoards {
    std::set<std::string> names = {};
    ~CreatedBoards() { remove_all(); }
    void remove_all() {
        for (const std::string& name : names) shm_unlink(("/" + name).c_str());
        names.clear();
    }
};

CreatedBoards& own_boards() {
    static CreatedBoards boards;
    return boards;
}

bool is_stale_board(const std::string& name) {
    if (name.rfind(prefix, 0) != 0) return false;
    const pid_t process = std::stoi(name.substr(prefix.size()));
    return kill(process, 0) != 0 && errno == ESRCH;
}

void remove_stale_boards() {
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm", error)) {
        const std::string name = file.path().filename();
        if (is_stale_board(name)) remove_board(name);
    }
}

}  // namespace

void Board::complain(const std::string& what) {
    int none = 0;
    if (!complaint_state.compare_exchange_strong(none, 1)) return;
    std::strncpy(complaint.data(), what.c_str(), complaint.size() - 1);
    complaint_state = 2;
}

std::string make_board() {
    static int number = 0;
    remove_stale_boards();
    const std::string name = prefix + std::to_string(getpid()) + "_" + std::to_string(number++);
    const int file = shm_open(("/" + name).c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file < 0) return {};
    own_boards().names.insert(name);
    const bool has_memory = ftruncate(file, sizeof(Board)) == 0;
    close(file);
    return has_memory ? name : std::string();
}

Board* open_board(const std::string& name) {
    const int file = shm_open(("/" + name).c_str(), O_RDWR, 0600);
    if (file < 0) return nullptr;
    void* const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<Board*>(memory);
}

void close_board(Board* board) { munmap(board, sizeof(Board)); }

void remove_board(const std::string& name) {
    shm_unlink(("/" + name).c_str());
    own_boards().names.erase(name);
}

void remove_own_boards() { own_boards().remove_all(); }

}  // namespace trireme::nccl_stand_in
