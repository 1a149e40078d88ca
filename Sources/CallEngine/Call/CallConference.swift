// A call in a conference: its media joins the room, wherever that lives.

extension Call {
    package func join(_ request: ConferenceRequest) throws(CallControlError) -> Participation {
        guard let media, state == .answered else { throw .noMedia(operation: "conference") }
        return try media.join(request, of: shard.conferences)
    }
}
