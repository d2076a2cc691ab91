#pragma once

namespace laneway {

/// progress_all for calls that find nothing and are made of many things one after another: not again within a
/// microsecond, in which nothing more would come, nor within as long as it has taken: the network may be slow to look
/// at.
void progress_now_and_then();

}  // namespace laneway
