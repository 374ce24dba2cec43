"""What a service in Python would write, on the client that openapi-python-client makes."""

import json
import sys

from portico_client import Client
from portico_client.api.approvals import list_approvals
from portico_client.api.events import read_records
from portico_client.api.messages import post_message
from portico_client.api.questions import answer_questions
from portico_client.api.sessions import change_session, create_session
from portico_client.models import Answer, Answered, ChangeSession, CreateSession, CreateSessionMetadataType0, PostMessage

base, message = sys.argv[1:]
client = Client(base_url=base, timeout=60)

metadata = CreateSessionMetadataType0.from_dict({"customer": "7"})
session = create_session.sync(client=client, body=CreateSession(metadata=metadata))
changed = change_session.sync(session.id, client=client, body=ChangeSession(title="Boats"))
end = post_message.sync(session.id, client=client, body=PostMessage(text=message), prefer="wait=30")
records = read_records.sync(session.id, client=client)
approvals = list_approvals.sync(client=client)
answered = Answered(answers=[Answer(id="q1", selected=["Canoe"])])
wrong = answer_questions.sync(session.id, "qst_none", client=client, body=answered)

said = {
    "metadata": changed.metadata.to_dict(),
    "reason": end.reason,
    "records": [f"done {one.reason}" if one.type_ == "done" else one.type_ for one in records.data],
    "approvals": len(approvals.data),
    "refused": wrong.code,
    "sent": answered.to_dict(),
}
print(json.dumps(said, default=str))
